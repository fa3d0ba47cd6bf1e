//! The host as a device: `target` regions and OpenACC, which run where the program runs.

pub mod acc;
pub mod device;
