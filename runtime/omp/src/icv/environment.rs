//! Reads the environment into the device-wide variables.

use super::globals::int_range;
use super::parse::{self, Bad};
use super::{
    libomp, schedule, Allocator, Globals, Icv, Ours, ProcBind, RunSched, SchedKind, TargetOffload,
    SUPPORTED_ACTIVE_LEVELS, UNLIMITED_THREADS,
};
use crate::affinity::{places, CpuSet, PlaceKind};
use hetmp_core::env::{self, text::quoted};
use hetmp_core::spins::{self, Asked, Library};
use hetmp_sched::schedule::{Kind, Modifier, Schedule};

/// The properties of the machine that the values depend on. Plain data, so that tests can invent a machine.
pub struct Machine<'a> {
    /// The default number of threads: CPUs of the affinity mask, cut by the cgroup quota.
    pub default_threads: u32,
    /// The affinity mask of the process at its start.
    pub allowed: &'a CpuSet,
    /// The places of one kind in libgomp's order, at most as many as the second argument says.
    pub places: &'a dyn Fn(PlaceKind, usize) -> Vec<CpuSet>,
    /// The smallest stack size that the thread library accepts, in bytes.
    pub min_stack: u64,
    /// The program was built for libomp.
    pub as_libomp: bool,
}

/// The default of `affinity-format-var` in libgomp.
const AFFINITY_FORMAT: &[u8] = b"level %L thread %i affinity %A";
/// The default of `affinity-format-var` in libomp.
const LIBOMP_FORMAT: &[u8] = b"OMP: pid %P tid %i thread %n bound to OS proc set {%A}";

impl Globals {
    /// Reads every variable through `reader`. For a value that is not understood, `warn` gets one line of
    /// text (no prefix, no line feed), and the value in effect is the one that libgomp 12 would use.
    pub fn from_env(
        reader: &dyn Fn(&str) -> Option<Vec<u8>>,
        machine: &Machine<'_>,
        warn: &mut dyn FnMut(&str),
    ) -> Self {
        Source { reader, warn }.globals(machine)
    }
}

/// Where values come from, and where complaints go.
pub(super) struct Source<'a> {
    reader: &'a dyn Fn(&str) -> Option<Vec<u8>>,
    warn: &'a mut dyn FnMut(&str),
}

impl Source<'_> {
    pub(super) fn get(&self, name: &str) -> Option<Vec<u8>> {
        (self.reader)(name)
    }

    /// Tells that the value of `name` is bad, and what is expected.
    fn refuse(&mut self, name: &str, value: &[u8]) {
        (self.warn)(&env::refusal(name, value));
    }

    pub(super) fn refuse_because(&mut self, name: &str, value: &[u8], why: &str) {
        (self.warn)(&format!("{name}: {}: {why}", quoted(value)));
    }

    /// The value of `name` as `parse` reads it; `None` if unset or refused.
    pub(super) fn read<T>(
        &mut self,
        name: &str,
        parse: impl Fn(&[u8]) -> Result<T, Bad>,
    ) -> Option<T> {
        let value = self.get(name)?;
        let parsed = parse(&value).ok();
        if parsed.is_none() {
            self.refuse(name, &value);
        }
        parsed
    }

    /// [`Self::read`] for variables that also have the form `NAME_ALL`, which counts where `NAME` is unset
    /// (but not where it is refused).
    fn read_or_all<T>(&mut self, name: &str, parse: impl Fn(&[u8]) -> Result<T, Bad>) -> Option<T> {
        let name = self.present_form(name)?;
        self.read(&name, parse)
    }

    /// `NAME` if that is set, else `NAME_ALL` if that is set.
    fn present_form(&self, name: &str) -> Option<String> {
        [name.to_owned(), format!("{name}_ALL")]
            .into_iter()
            .find(|n| self.get(n).is_some())
    }

    /// A boolean. As in libgomp, a refused value may have an effect all the same. The second part of the
    /// answer tells whether the value was good.
    fn boolean(&mut self, name: &str, unset: bool) -> (bool, bool) {
        let Some(value) = self.get(name) else {
            return (unset, false);
        };
        match parse::boolean(&value) {
            Ok(b) => (b, true),
            Err(trace) => {
                self.refuse(name, &value);
                (trace.unwrap_or(unset), false)
            }
        }
    }

    fn boolean_or_all(&mut self, name: &str, unset: bool) -> bool {
        self.present_form(name)
            .map_or(unset, |form| self.boolean(&form, unset).0)
    }

    fn globals(mut self, machine: &Machine<'_>) -> Globals {
        let mut ours = self.ours();
        let given = env::TABLE
            .iter()
            .any(|v| v.family == env::Family::Libomp && self.get(v.name).is_some());
        let libomp = libomp::read(&mut self, given);
        let mut icv = Icv::initial(machine.default_threads.max(1));
        let (schedule, schedule_given) = self.schedule(machine.as_libomp);
        ours.schedule_given = schedule_given;
        ours.schedule_instead = self.schedule_instead(schedule_given, machine.as_libomp);
        icv.run_sched = RunSched::from(&schedule);
        if machine.as_libomp && schedule.modifier == Modifier::None {
            // libomp does not report a modifier that the text does not have.
            icv.run_sched.modifier = Modifier::None;
        }
        if !schedule_given
            && self
                .get("OMP_SCHEDULE")
                .is_some_and(|v| libomp::is_trapezoidal(&v))
        {
            icv.run_sched.kind = SchedKind::Trapezoidal;
        }
        icv.dynamic = self.boolean_or_all("OMP_DYNAMIC", false);
        let cancellation = self.boolean("OMP_CANCELLATION", false).0;
        let display_affinity = self.boolean("OMP_DISPLAY_AFFINITY", false).0;
        icv.default_device = self
            .read_or_all("OMP_DEFAULT_DEVICE", |v| parse::int(v, true))
            .unwrap_or(0);
        let target_offload = self
            .read("OMP_TARGET_OFFLOAD", parse::target_offload)
            .unwrap_or(TargetOffload::Default);
        let max_task_priority = self
            .read("OMP_MAX_TASK_PRIORITY", |v| parse::int(v, true))
            .unwrap_or(0);
        let default_allocator = self
            .read("OMP_ALLOCATOR", parse::allocator)
            .unwrap_or(Allocator::DefaultMem);
        if let Some(n) = self.read_or_all("OMP_THREAD_LIMIT", |v| parse::long(v, false)) {
            icv.thread_limit = i32::try_from(n).map_or(UNLIMITED_THREADS, i32::unsigned_abs);
        }
        icv.thread_limit = icv
            .thread_limit
            .min(libomp.thread_limit.unwrap_or(UNLIMITED_THREADS));
        let debug = self
            .read("GOMP_DEBUG", |v| parse::int(v, true))
            .unwrap_or(0);
        let nthreads = self
            .read_or_all("OMP_NUM_THREADS", parse::list)
            .unwrap_or_else(|| Box::new([u64::from(icv.nthreads)]));
        icv.nthreads = int_range(nthreads[0]);
        let num_teams = self
            .read_or_all("OMP_NUM_TEAMS", |v| parse::int(v, false))
            .unwrap_or(0);
        let teams_thread_limit = self
            .read_or_all("OMP_TEAMS_THREAD_LIMIT", |v| parse::int(v, false))
            .unwrap_or(0);
        let binds = self.read_or_all("OMP_PROC_BIND", parse::proc_bind);
        let unbound = binds.as_deref() == Some(&[ProcBind::False]);
        let binds = binds.unwrap_or_else(|| Box::new([ProcBind::False]));
        icv.bind = binds[0];
        icv.max_active_levels = self.active_levels(nthreads.len() > 1 || binds.len() > 1);
        if libomp.library == Some(Library::Serial) {
            icv.max_active_levels = 0;
        }
        let (mut places, places_instead) = self.places(&mut icv, unbound, machine);
        if let Some(affinity) = libomp.affinity.as_ref().filter(|a| a.order.is_some()) {
            let (list, bind) = affinity.places(machine.places);
            (places, icv.bind) = (list.into(), bind);
        }
        let format = if machine.as_libomp {
            LIBOMP_FORMAT
        } else {
            AFFINITY_FORMAT
        };
        let affinity_format = self
            .get("OMP_AFFINITY_FORMAT")
            .map_or_else(|| format.into(), Vec::into_boxed_slice);
        // For what is displayed, and for complaints. The waiting policy reads the same variables by itself.
        let policy = self.read_or_all("OMP_WAIT_POLICY", |v| spins::wait_policy(v).ok_or(Bad));
        let waits = Asked {
            policy,
            library: libomp.library,
            turns: self.read("GOMP_SPINCOUNT", |v| spins::spin_count(v).ok_or(Bad)),
            blocktime_us: libomp.blocktime_us,
        };
        let (stack_size, thread_stack) = self.stack_size(machine.min_stack, libomp.stack_size);
        let (display_env, display_verbose) = self.display_env();
        let acc_device_num = self
            .read("ACC_DEVICE_NUM", |v| parse::int(v, true))
            .unwrap_or(0);
        let acc_device_type = self
            .get("ACC_DEVICE_TYPE")
            .filter(|v| !v.is_empty())
            .map(Vec::into_boxed_slice);
        let acc_dimensions = self
            .get("GOMP_OPENACC_DIM")
            .map_or([0; 3], |v| parse::acc_dimensions(&v));
        Globals {
            icv,
            schedule,
            nthreads,
            nthreads_given: self.get("OMP_NUM_THREADS").is_some(),
            binds,
            places,
            places_instead,
            available_cpus: machine.default_threads.max(1),
            allowed: machine.allowed.clone(),
            waits,
            stack_size,
            thread_stack,
            cancellation,
            max_task_priority,
            target_offload,
            default_allocator,
            display_affinity,
            affinity_format,
            num_teams,
            teams_thread_limit,
            display_env,
            display_verbose,
            debug,
            acc_device_type,
            acc_device_num,
            acc_dimensions,
            ours,
            libomp,
            as_libomp: machine.as_libomp,
        }
    }

    fn ours(&mut self) -> Ours {
        Ours {
            nodes: self.get("HETMP_NODES").map(Vec::into_boxed_slice),
            far: self.read("HETMP_FAR", parse::far),
            report: self.file("HETMP_REPORT"),
            trace: self.file("HETMP_TRACE"),
            trace_events: self
                .read("HETMP_TRACE_EVENTS", parse::trace_events)
                .unwrap_or(1 << 16),
            static_loops: self
                .read("HETMP_STATIC", parse::static_loops)
                .unwrap_or_default(),
            objective: self
                .read("HETMP_OBJECTIVE", parse::objective)
                .unwrap_or_default(),
            fault_period_us: self
                .read("HETMP_FAULT_PERIOD", parse::number)
                .filter(|&us| self.above_zero("HETMP_FAULT_PERIOD", us)),
            counter: self.file("HETMP_COUNTER"),
            profile: self.file("HETMP_PROFILE"),
            cache: self.file("HETMP_CACHE"),
            calibration: self.file("HETMP_CALIBRATION"),
            verbose: self
                .read("HETMP_VERBOSE", |v| env::switch(v).ok_or(Bad))
                .unwrap_or(false),
            schedule_given: false,
            schedule_instead: Schedule::default(),
        }
    }

    /// A value that is taken as it stands; an empty value counts as unset.
    fn file(&mut self, name: &str) -> Option<Box<[u8]>> {
        let value = self.get(name).filter(|v| !v.is_empty())?;
        Some(value.into_boxed_slice())
    }

    fn above_zero(&mut self, name: &str, number: f64) -> bool {
        if number <= 0.0 {
            self.refuse(name, &self.get(name).unwrap_or_default());
        }
        number > 0.0
    }

    /// The schedule from `HETMP_SCHEDULE` if that is good, else from `OMP_SCHEDULE`. As in libgomp, the kind
    /// of `OMP_SCHEDULE` counts even if the chunk is bad. The second part of the answer: the schedule came
    /// from `HETMP_SCHEDULE`.
    fn schedule(&mut self, as_libomp: bool) -> (Schedule, bool) {
        if let Some(value) = self.get("HETMP_SCHEDULE") {
            match schedule::parse(&value) {
                Ok(schedule) => return (schedule, true),
                Err(bad) => {
                    let said = format!("not a schedule, and ignored (expected {})", bad.expected);
                    self.refuse_because("HETMP_SCHEDULE", &value, &said);
                }
            }
        }
        let Some(name) = self.present_form("OMP_SCHEDULE") else {
            return (Self::schedule_unset(as_libomp), false);
        };
        let value = self.get(&name).unwrap_or_default();
        let value = libomp::schedule(&value).unwrap_or(value);
        let schedule = schedule::parse(&value).unwrap_or_else(|bad| {
            let said = format!(
                "not a schedule (expected {}); {} is used",
                bad.expected, bad.effective
            );
            self.refuse_because(&name, &value, &said);
            bad.effective
        });
        (schedule, false)
    }

    /// The schedule where no variable says one.
    fn schedule_unset(as_libomp: bool) -> Schedule {
        if as_libomp {
            Schedule::plain(Kind::Static)
        } else {
            Schedule::default()
        }
    }

    /// See [`super::globals::Ours::schedule_instead`]. A bad `OMP_SCHEDULE` costs no line here: `HETMP_SCHEDULE` won
    /// over it.
    fn schedule_instead(&mut self, schedule_given: bool, as_libomp: bool) -> Schedule {
        let unset = Self::schedule_unset(as_libomp);
        let Some(name) = self.present_form("OMP_SCHEDULE").filter(|_| schedule_given) else {
            return unset;
        };
        let value = self.get(&name).unwrap_or_default();
        let value = libomp::schedule(&value).unwrap_or(value);
        schedule::parse(&value).unwrap_or(unset)
    }

    fn active_levels(&mut self, lists_given: bool) -> u8 {
        if let Some(n) = self.read_or_all("OMP_MAX_ACTIVE_LEVELS", |v| parse::long(v, true)) {
            return u8::try_from(n).unwrap_or(SUPPORTED_ACTIVE_LEVELS);
        }
        // As in libgomp, the older variable counts only where the newer one is not set.
        match self.boolean("OMP_NESTED", true) {
            (true, true) => SUPPORTED_ACTIVE_LEVELS,
            (false, true) => 1,
            (_, false) if lists_given => SUPPORTED_ACTIVE_LEVELS,
            (_, false) => 1,
        }
    }

    /// Reads the places. Returns the places, and the kind that libomp would use instead of a bad
    /// `OMP_PLACES`. Sets `bind-var` as it follows from the places. Both variables are always checked;
    /// `OMP_PLACES` wins over `GOMP_CPU_AFFINITY`. A good value has no effect where binding was forbidden
    /// (`unbound`).
    fn places(
        &mut self,
        icv: &mut Icv,
        unbound: bool,
        machine: &Machine<'_>,
    ) -> (Box<[CpuSet]>, Option<PlaceKind>) {
        let (mut list, mut instead) = (Vec::new(), None);
        if let Some(value) = self.get("OMP_PLACES") {
            match places::parse(&value) {
                Err(why) => {
                    self.refuse_places(&value, &why);
                    if machine.as_libomp {
                        // For a bad value libomp uses the kind that the value begins with, else cores.
                        let kind = libomp::intended_places(&value);
                        list = (machine.places)(kind, usize::MAX);
                        instead = Some(kind);
                    }
                }
                Ok(_) if unbound => {}
                Ok(spec) => match spec.resolve(machine.allowed, machine.places, self.warn) {
                    Ok(found) => list = found,
                    Err(why) => self.refuse_places(&value, &why),
                },
            }
        }
        if let Some(value) = self.get("GOMP_CPU_AFFINITY") {
            match places::parse_cpu_affinity(&value) {
                None => self.refuse("GOMP_CPU_AFFINITY", &value),
                Some(cpus) if !unbound && list.is_empty() => {
                    list = places::one_per_cpu(&cpus, machine.allowed);
                    if let Some(why) = places::beyond(&cpus, machine.allowed) {
                        self.refuse_because("GOMP_CPU_AFFINITY", &value, &why);
                    }
                }
                Some(_) => {}
            }
        }
        if !list.is_empty() && icv.bind == ProcBind::False {
            icv.bind = ProcBind::True;
        }
        if list.is_empty() && icv.bind != ProcBind::False {
            list = (machine.places)(PlaceKind::Threads, usize::MAX);
        }
        (list.into(), instead)
    }

    fn refuse_places(&mut self, value: &[u8], why: &places::Refusal) {
        match why {
            places::Refusal::Syntax => self.refuse("OMP_PLACES", value),
            places::Refusal::Reason(text) => {
                self.refuse_because("OMP_PLACES", value, text);
            }
        }
    }

    /// The size as given in bytes (0: not given), and the size that threads can get.
    fn stack_size(&mut self, min: u64, libomp: Option<u64>) -> (u64, Option<u64>) {
        let mut name = self.present_form("OMP_STACKSIZE");
        let mut size = name
            .as_deref()
            .and_then(|n| self.read(n, parse::stack_size));
        if size.is_none() {
            name = Some("GOMP_STACKSIZE".to_owned());
            size = self.read("GOMP_STACKSIZE", parse::stack_size);
        }
        if libomp.is_some() {
            (name, size) = (Some("KMP_STACKSIZE".to_owned()), libomp);
        }
        let (Some(size), Some(name)) = (size, name) else {
            return (0, None);
        };
        if size < min {
            (self.warn)(&format!(
                "{name}: {size} bytes: too small (expected at least {min}); the system's default is used"
            ));
            return (size, None);
        }
        (size, Some(size))
    }

    fn display_env(&mut self) -> (bool, bool) {
        let Some(value) = self.get("OMP_DISPLAY_ENV") else {
            return (false, false);
        };
        let (shown, verdict) = parse::display_env(&value);
        if verdict.is_err() {
            self.refuse("OMP_DISPLAY_ENV", &value);
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::icv::display;
    use proptest::prelude::*;

    fn read(env: &[(&str, &[u8])]) -> (Globals, Vec<String>) {
        let allowed: CpuSet = (0..4).collect();
        let mut warnings = Vec::new();
        let globals = Globals::from_env(
            &|name| {
                let found = env.iter().find(|e| e.0 == name);
                found.map(|e| e.1.to_vec())
            },
            &Machine {
                default_threads: 4,
                allowed: &allowed,
                places: &|_, most| {
                    let one = |cpu| CpuSet::from_iter([cpu]);
                    allowed.iter().take(most).map(one).collect()
                },
                min_stack: 16384,
                as_libomp: false,
            },
            &mut |line| warnings.push(line.to_owned()),
        );
        (globals, warnings)
    }

    #[test]
    fn teams_inherit_and_lists_override() {
        let (g, _) = read(&[
            ("OMP_NUM_THREADS", b"4,3,99999999999"),
            ("OMP_PROC_BIND", b"spread,close"),
        ]);
        assert_eq!(g.icv.max_active_levels, SUPPORTED_ACTIVE_LEVELS);
        assert_eq!(g.places.len(), 4);
        let outer = g.team_icv(&g.icv, 1, None);
        assert_eq!(outer.bind, ProcBind::Spread);
        assert_eq!((outer.icv.nthreads, outer.icv.bind), (3, ProcBind::Close));
        let inner = g.team_icv(&outer.icv, 2, Some(ProcBind::Primary));
        assert_eq!(inner.bind, ProcBind::Primary);
        // There is no third policy in the list: the clause's is inherited. The third number is cut to an int.
        let third = (inner.icv.nthreads, inner.icv.bind);
        assert_eq!(third, (i32::MAX as u32, ProcBind::Primary));
        let deepest = g.team_icv(&inner.icv, 3, None);
        assert_eq!(deepest.icv, inner.icv);
    }

    #[test]
    fn one_number_is_no_list() {
        let (g, _) = read(&[("OMP_NUM_THREADS", b"3")]);
        let mut icv = g.icv;
        assert_eq!(icv.nthreads, 3);
        icv.set_num_threads(7);
        assert_eq!(g.team_icv(&icv, 1, None).icv.nthreads, 7);
    }

    #[test]
    fn clauses_need_binding_and_places() {
        let (g, _) = read(&[]);
        let team = g.team_icv(&g.icv, 1, Some(ProcBind::Spread));
        assert_eq!(
            (team.bind, team.icv.bind),
            (ProcBind::False, ProcBind::False)
        );
        let (g, _) = read(&[("OMP_PLACES", b"{0},{1}")]);
        assert_eq!(g.icv.bind, ProcBind::True);
        let team = g.team_icv(&g.icv, 1, Some(ProcBind::Spread));
        assert_eq!(team.bind, ProcBind::Spread);
    }

    #[test]
    fn complaints_name_variable_value_and_what_is_good() {
        let (_, warnings) = read(&[("OMP_WAIT_POLICY", b"idle\n\xff"), ("OMP_PLACES", b"{9}")]);
        assert_eq!(
            warnings,
            [
                "OMP_PLACES: '{9}': no place has a CPU that this process may use",
                "OMP_WAIT_POLICY: 'idle\\n\\xff': unknown (expected active or passive)"
            ]
        );
        let (g, warnings) = read(&[("OMP_STACKSIZE", b"1k")]);
        assert_eq!((g.stack_size, g.thread_stack), (1024, None));
        assert_eq!(warnings.len(), 1);
    }

    proptest! {
        /// Any bytes in any variables: no panic, only whole lines, and a sound result.
        #[test]
        fn no_environment_makes_it_panic(
            values in proptest::collection::vec((
                (0..env::TABLE.len()).prop_map(|i| env::TABLE[i].name),
                prop_oneof![
                    proptest::collection::vec(any::<u8>(), 0..40),
                    "[a-z0-9{}:,! ()-]{0,20}".prop_map(String::into_bytes),
                ],
            ), 0..12)
        ) {
            let env: Vec<(&str, &[u8])> = values.iter().map(|(n, v)| (*n, &v[..])).collect();
            let (g, warnings) = read(&env);
            prop_assert!(warnings.iter().all(|w| !w.contains('\n') && w.contains(": ")));
            prop_assert!(g.icv.nthreads >= 1 && !g.nthreads.is_empty() && !g.binds.is_empty());
            let spins = g.waits.spins();
            prop_assert!(spins.throttled <= spins.free);
            let text = display::text(&g, &display::Current::unchanged(&g), true);
            prop_assert!(text.ends_with(b"ENVIRONMENT END\n"));
            let text = String::from_utf8_lossy(&text);
            for row in env::TABLE.iter().filter(|row| row.family == env::Family::Hetmp) {
                prop_assert_eq!(text.matches(&format!("\n  {} = '", row.name)).count(), 1);
            }
        }
    }
}
