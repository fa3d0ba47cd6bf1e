//! Where regions may run, why, and what is known of machine and program before anything ran.

/// A thread cannot touch more pages than one in this many nanoseconds of its work.
const TOUCH_NS: f64 = 50.0;
/// The weight of that bound, beside the bound that is all of the program's data.
const TOUCHED: f64 = 0.4;

/// Where an execution of a region runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Place {
    /// On the node where the program begins.
    Home,
    /// On all nodes.
    Across,
    /// Whole on this node, which is not home.
    Node(usize),
    /// At home, but for a small part on each of the other nodes, which is measured and reported by
    /// `Crossings::probed`; the same part each time.
    Probe,
}

/// What makes nodes and link known before anything was measured.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Probing {
    /// Nanoseconds that one thread would wait for all pages of the program.
    pub(super) data_ns: f64,
    /// Nanoseconds that a thread waits for a page.
    pub(super) fault_ns: f64,
    /// A thread's part of a region in a probe takes this part of the region's time at home, on a core of home.
    pub(super) piece: f64,
}

impl Probing {
    /// What a thread may wait for pages in a probe of a region that takes `home_ns` at home: something between waiting
    /// for all of the data, and waiting for as many pages as its part of the region has time to touch.
    pub(super) fn waiting_ns(&self, home_ns: f64) -> f64 {
        let touched = home_ns * self.piece / TOUCH_NS * self.fault_ns;
        touched.min(self.data_ns).powf(TOUCHED) * self.data_ns.powf(1.0 - TOUCHED)
    }
}

/// What a machine and a program are like that can be probed.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Probed {
    /// Nodes.
    pub(in super::super) nodes: u32,
    /// Nanoseconds that a region takes longer if it leaves home.
    pub(in super::super) overhead_ns: f64,
    /// Nanoseconds that a thread waits for a page.
    pub(in super::super) fault_ns: f64,
    /// Pages of the program.
    pub(in super::super) pages: u64,
    /// The part of a region's time at home that a thread's part in a probe takes, on a core of home.
    pub(in super::super) piece: f64,
}
