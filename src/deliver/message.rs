//! The public message, contract version 1 (DESIGN §7).

use crate::domain::paging::notification::Notification;

/// The exact bytes of a notification, the same for every receiver and attempt.
pub fn freeze(_notification: &Notification) -> String {
    String::new()
}
