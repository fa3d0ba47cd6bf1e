//! The affinity format (OpenMP 5.1, section 6.14).
