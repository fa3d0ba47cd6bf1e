//! Numbers for places in the program: a construct of one kind, called at one address, in one region.
//!
//! A search takes no lock. A place that is new takes one, and asks the loader which file holds the address, since the
//! file may be unloaded and another one loaded at its address before anybody reads the profile.

use crate::layout::{Map, INDEX, NAMES, SITES};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use hetmp_core::object::Place;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

static NEW: Mutex<()> = Mutex::new(());

impl Map {
    /// The number of a site. 0 stands for all that come when there is no room.
    pub(crate) fn site(&self, kind: u32, region: u32, address: usize) -> u32 {
        let what = u64::from(kind) | (u64::from(region) << 32);
        let address = address as u64;
        if let Some(found) = self.search(what, address).0 {
            return found;
        }
        let _one = NEW.lock().unwrap_or_else(PoisonError::into_inner);
        let (found, free) = self.search(what, address);
        if let Some(found) = found {
            return found;
        }
        let number = self.head.sites.load(Relaxed).max(1);
        let Some(site) = self.sites.get(number as usize) else {
            return 0;
        };
        site.what.store(what, Relaxed);
        site.address.store(address, Relaxed);
        if let Some(place) = Place::of(address as usize).filter(|_| address != 0) {
            site.object.store(self.object(&place), Relaxed);
            site.offset.store(place.offset, Relaxed);
        }
        self.head.sites.store(number + 1, Release);
        self.index[free].store(number as u32, Release);
        number as u32
    }

    /// The number of a known site, and else the entry of the table in which its number belongs.
    fn search(&self, what: u64, address: u64) -> (Option<u32>, usize) {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = (what.wrapping_mul(ODD) ^ address).wrapping_mul(ODD);
        let mut at = (mixed >> 40) as usize % INDEX;
        // The table has more entries than there are sites, so that the search ends.
        loop {
            let number = self.index[at].load(Acquire);
            if number == 0 {
                return (None, at);
            }
            let site = &self.sites[number as usize % SITES];
            if site.what.load(Relaxed) == what && site.address.load(Relaxed) == address {
                return (Some(number), at);
            }
            at = (at + 1) % INDEX;
        }
    }

    /// Notes the path of the program, as the first name of all. Called before there is any site.
    pub(crate) fn say_program(&self, path: &Path) {
        self.object(&Place {
            path: path.to_owned(),
            build_id: Vec::new(),
            offset: 0,
        });
    }

    /// Where the names of an object begin, plus 1; 0 if there is no room for them. The names are the path and the build
    /// identity in hexadecimal digits, each with a zero byte behind.
    fn object(&self, place: &Place) -> u64 {
        let mut names = place.path.as_os_str().as_bytes().to_vec();
        names.push(0);
        for byte in &place.build_id {
            names.extend(format!("{byte:02x}").as_bytes());
        }
        names.push(0);
        let used = self.head.names.load(Relaxed) as usize;
        let mut at = 0;
        while at < used {
            let same = names.iter().enumerate().all(|(i, &byte)| {
                let there = self.names.get(at + i);
                there.is_some_and(|there| there.load(Relaxed) == byte)
            });
            if same && at + names.len() <= used {
                return at as u64 + 1;
            }
            for _path_and_identity in 0..2 {
                at += self.name(at).len() + 1;
            }
        }
        if names.len() > NAMES - used {
            return 0;
        }
        for (there, &byte) in self.names[used..].iter().zip(&names) {
            there.store(byte, Relaxed);
        }
        self.head.names.store((used + names.len()) as u64, Release);
        used as u64 + 1
    }

    /// The bytes from `at` to before the next zero byte.
    pub(crate) fn name(&self, at: usize) -> Vec<u8> {
        let rest = self.names.get(at..).unwrap_or_default();
        rest.iter()
            .map(|byte| byte.load(Relaxed))
            .take_while(|&byte| byte != 0)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::Kind;

    fn map() -> Box<Map> {
        // SAFETY: a map of zeros is valid: it consists of atomic words. The memory is that of one map, of which the
        // system provides what is touched.
        unsafe { Box::from_raw(std::alloc::alloc_zeroed(std::alloc::Layout::new::<Map>()).cast()) }
    }

    #[test]
    fn a_place_keeps_its_number_and_its_object() {
        let map = map();
        let here = a_place_keeps_its_number_and_its_object as *const () as usize;
        let region = map.site(Kind::REGION, 0, here);
        assert_eq!(region, 1, "0 is for what finds no room");
        assert_eq!(map.site(Kind::REGION, 0, here), region);
        let inside = map.site(Kind::TASK, region, here);
        assert_ne!(inside, region);
        assert_eq!(map.sites[inside as usize].region(), region);
        let unknown = map.site(Kind::TASK, region, 0);
        assert_eq!(map.sites[unknown as usize].object.load(Relaxed), 0);
        let object = map.sites[region as usize].object.load(Relaxed);
        assert_eq!(map.sites[inside as usize].object.load(Relaxed), object);
        let path = std::env::current_exe().expect("this program");
        assert_eq!(map.name(object as usize - 1), path.as_os_str().as_bytes());
        let other = map.site(Kind::TASK, region, libc::malloc as *const () as usize);
        assert_ne!(map.sites[other as usize].object.load(Relaxed), object);
        assert_eq!(
            map.site(Kind::TASK, 0, libc::malloc as *const () as usize),
            other + 1,
            "the same place outside of the region"
        );
        let last = &map.sites[other as usize + 1];
        assert_eq!(
            last.object.load(Relaxed),
            map.sites[other as usize].object.load(Relaxed),
            "the second object's names are found again"
        );
    }

    #[test]
    fn further_sites_than_there_is_room_for_are_site_0() {
        let map = map();
        for i in 1..SITES {
            assert_eq!(map.site(Kind::TASK, i as u32, 0), i as u32);
        }
        assert_eq!(map.site(Kind::TASK, 9999, 0), 0);
        assert_eq!(map.site(Kind::TASK, 17, 0), 17);
    }
}
