//! restart.
