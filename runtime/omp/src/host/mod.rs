//! The host as a device: `target` regions and OpenACC constructs, which run where the program runs.

pub mod acc;
pub mod device;
