//! `sqlite-vec` over the same vectors, in the same process.

use std::time::Instant;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection as _, SqliteConnection};

use crate::reference::{DEPTH, Vectors, WIDTH, times};

/// Times searches of a `vec0` table that holds the vectors.
///
/// # Errors
/// SQLite's.
pub(super) async fn search(vectors: &Vectors, asked: u64) -> anyhow::Result<String> {
    register();
    let mut memory = SqliteConnection::connect_with(&SqliteConnectOptions::new().in_memory(true)).await?;
    let table = format!("CREATE VIRTUAL TABLE beside USING vec0(vector float[{WIDTH}] distance_metric=cosine)");
    sqlx::query(sqlx::AssertSqlSafe(table)).execute(&mut memory).await?;
    let mut work = memory.begin().await?;
    for (id, vector) in (0_i64..).zip(vectors.each()) {
        sqlx::query("INSERT INTO beside (rowid, vector) VALUES ($1, $2)")
            .bind(id)
            .bind(blob(vector))
            .execute(&mut *work)
            .await?;
    }
    work.commit().await?;
    let mut measured = Vec::new();
    // Slower than a scan of memory: a tenth of the questions tells as much.
    for number in 0..asked.div_ceil(10) {
        let question = blob(&vectors.question(number));
        let since = Instant::now();
        let found = sqlx::query("SELECT rowid, distance FROM beside WHERE vector MATCH $1 AND k = $2")
            .bind(question)
            .bind(i64::try_from(DEPTH)?)
            .fetch_all(&mut memory)
            .await?;
        measured.push((since.elapsed(), found.len()));
    }
    Ok(times(measured.into_iter()))
}

fn blob(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Has every connection that is opened from now on know `vec0`.
#[expect(unsafe_code, reason = "the extension is C, and SQLite takes it as a pointer; nothing but the bench does this")]
fn register() {
    type Init = unsafe extern "C" fn(
        *mut libsqlite3_sys::sqlite3,
        *mut *mut std::ffi::c_char,
        *const libsqlite3_sys::sqlite3_api_routines,
    ) -> std::ffi::c_int;
    let init = sqlite_vec::sqlite3_vec_init as *const ();
    // SAFETY: this is the entry point's true type, as sqlite-vec.h declares it; the crate leaves the arguments out.
    unsafe {
        let init = std::mem::transmute::<*const (), Init>(init);
        libsqlite3_sys::sqlite3_auto_extension(Some(init));
    }
}
