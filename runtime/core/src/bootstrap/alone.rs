//! A job of one process: nobody started it.

use super::{exit_now, random_secret, Error, Job, Keys, Launcher, SECRET};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

pub(super) struct Alone {
    secret: [u8; SECRET],
    keys: Keys,
    /// What was put since the last fence. Under every launcher a value becomes visible at a fence only.
    pending: Vec<(String, Vec<u8>)>,
    values: BTreeMap<String, Vec<u8>>,
}

impl Alone {
    pub(super) fn new() -> Result<Self, Error> {
        Ok(Self {
            secret: random_secret()?,
            keys: Keys::default(),
            pending: Vec::new(),
            values: BTreeMap::new(),
        })
    }
}

impl Job for Alone {
    fn launcher(&self) -> Launcher {
        Launcher::Alone
    }
    fn rank(&self) -> u32 {
        0
    }
    fn size(&self) -> u32 {
        1
    }
    fn local_ranks(&self) -> &[u32] {
        &[0]
    }
    fn secret(&self) -> &[u8; SECRET] {
        &self.secret
    }
    fn address(&self) -> Option<IpAddr> {
        Some(IpAddr::V4(Ipv4Addr::LOCALHOST))
    }
    fn put(&mut self, key: &str, value: &[u8]) -> Result<(), Error> {
        self.keys.put(key, value)?;
        self.pending.push((key.to_owned(), value.to_vec()));
        Ok(())
    }
    fn fence(&mut self) -> Result<(), Error> {
        self.values.extend(self.pending.drain(..));
        Ok(())
    }
    fn get(&mut self, rank: u32, key: &str) -> Result<Option<Vec<u8>>, Error> {
        Keys::get(rank, 1, key)?;
        Ok(self.values.get(key).cloned())
    }
    fn abort(&mut self, status: i32, message: &str) -> ! {
        crate::report::flush_output();
        crate::report::warn(format_args!("job ended with status {status}: {message}"));
        exit_now(status)
    }
    fn finalize(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
