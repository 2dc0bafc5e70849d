//! One accounting record, whatever it was read from, and its row.

use super::clock::{Clock, Moment, start_and_end};
use super::hostlist::{self, Names};
use super::value::{Id, State, Tres};
use crate::source::{BatchSink, Period};
use crate::table::{Column, TableBuilder};
use arrow::array::{Array, StringArray};

/// A record of a job or a step. What an input does not say is None.
#[derive(Clone, Debug, Default)]
pub(super) struct Record<'a> {
    pub(super) id: Id<'a>,
    pub(super) cluster: Option<&'a str>,
    pub(super) user: Option<&'a str>,
    pub(super) uid: Option<i64>,
    pub(super) account: Option<&'a str>,
    pub(super) partition: Option<&'a str>,
    pub(super) qos: Option<&'a str>,
    pub(super) name: Option<&'a str>,
    pub(super) state: Option<State<'a>>,
    pub(super) exit: Option<(i64, i64)>,
    pub(super) derived_exit: Option<(i64, i64)>,
    pub(super) reason: Option<&'a str>,
    pub(super) submit: Option<Moment>,
    pub(super) eligible: Option<Moment>,
    pub(super) start: Option<Moment>,
    pub(super) end: Option<Moment>,
    pub(super) elapsed: Option<f64>,
    pub(super) suspended: Option<f64>,
    pub(super) timelimit: Option<f64>,
    pub(super) timelimit_text: Option<&'a str>,
    pub(super) nodes: Option<i64>,
    pub(super) alloc_nodes: Option<i64>,
    pub(super) req_nodes: Option<i64>,
    pub(super) node_list: Option<&'a str>,
    pub(super) ntasks: Option<i64>,
    pub(super) ncpus: Option<i64>,
    pub(super) req_cpus: Option<i64>,
    pub(super) req_mem: Option<(i64, &'static str)>,
    pub(super) alloc_tres: Option<Tres<'a>>,
    pub(super) req_tres: Option<Tres<'a>>,
    pub(super) usage_in: Option<Tres<'a>>,
    pub(super) usage_out: Option<Tres<'a>>,
    pub(super) total_cpu: Option<f64>,
    pub(super) user_cpu: Option<f64>,
    pub(super) system_cpu: Option<f64>,
    pub(super) ave_cpu: Option<f64>,
    pub(super) min_cpu: Option<f64>,
    pub(super) min_cpu_where: Task<'a>,
    pub(super) max_rss: Option<i64>,
    pub(super) max_rss_where: Task<'a>,
    pub(super) ave_rss: Option<i64>,
    pub(super) max_vmsize: Option<i64>,
    pub(super) ave_vmsize: Option<i64>,
    pub(super) max_pages: Option<i64>,
    pub(super) ave_pages: Option<i64>,
    pub(super) max_disk_read: Option<i64>,
    pub(super) max_disk_read_where: Task<'a>,
    pub(super) ave_disk_read: Option<i64>,
    pub(super) max_disk_write: Option<i64>,
    pub(super) max_disk_write_where: Task<'a>,
    pub(super) ave_disk_write: Option<i64>,
    pub(super) energy: Option<i64>,
    pub(super) priority: Option<i64>,
    pub(super) restarts: Option<i64>,
    pub(super) reservation: Option<&'a str>,
    pub(super) constraints: Option<&'a str>,
    pub(super) flags: Option<&'a str>,
    pub(super) wckey: Option<&'a str>,
    pub(super) work_dir: Option<&'a str>,
    pub(super) comment: Option<&'a str>,
    pub(super) admin_comment: Option<&'a str>,
    pub(super) system_comment: Option<&'a str>,
    pub(super) submit_line: Option<&'a str>,
    pub(super) layout: Option<&'a str>,
}

/// The node and the number of the task that had the least or the most of something.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Task<'a> {
    pub(super) node: Option<&'a str>,
    pub(super) task: Option<i64>,
}

/// The state of a job that waits.
const PENDING: i64 = 0;
/// States that a job has only once it was started: running, suspended, completed, failed, timeout, node fail, out of memory.
const RAN: [i64; 7] = [1, 2, 3, 5, 6, 7, 11];

/// The times of a record, microseconds since 1970, UTC.
struct Times {
    submit: Option<i64>,
    eligible: Option<i64>,
    start: Option<i64>,
    end: Option<i64>,
}

impl<'a> Record<'a> {
    /// Appends its row, if it has a part in the period and its table is asked for.
    pub(super) fn push(&self, period: Period, expansion: &mut Expansion, tables: &mut BatchSink) {
        let times = self.times();
        if !period.is_all() {
            let first = times.start.or(times.submit).or(times.eligible);
            // What runs or waits has no end yet.
            let waits = self.state.and_then(|state| state.code) == Some(PENDING);
            let goes_on = (times.start.is_some() || waits).then_some(i64::MAX);
            let last = times.end.or(goes_on).or(first);
            // What has no time at all belongs to no period.
            if !first
                .zip(last)
                .is_some_and(|(first, last)| period.overlaps(first, last))
            {
                return;
            }
        }
        match self.id.step {
            None => tables
                .get("slurm_job")
                .into_iter()
                .for_each(|b| self.push_job(&times, expansion, b)),
            Some(step) => {
                tables
                    .get("slurm_step")
                    .into_iter()
                    .for_each(|b| self.push_step(step, &times, expansion, b));
            }
        }
    }

    /// Takes out its lists of resources, whose memory is good for another record.
    pub(super) fn resources(&mut self) -> impl Iterator<Item = Tres<'a>> {
        let lists = [
            &mut self.alloc_tres,
            &mut self.req_tres,
            &mut self.usage_in,
            &mut self.usage_out,
        ];
        lists.into_iter().filter_map(Option::take)
    }

    fn times(&self) -> Times {
        let ran = self
            .elapsed
            .map(|elapsed| elapsed + self.suspended.unwrap_or(0.0));
        let (start, end) = match (self.start, self.end) {
            (Some(start), Some(end)) => {
                let (start, end) = start_and_end(start, end, ran);
                (Some(start), Some(end))
            }
            (start, end) => (start.map(|t| t.earliest), end.map(|t| t.earliest)),
        };
        Times {
            submit: self.submit.map(|t| t.earliest),
            eligible: self.eligible.map(|t| t.earliest),
            start,
            end,
        }
    }

    /// Nodes that it was given. Before a job starts, NNodes is what it asked for.
    fn node_count(&self, expansion: &mut Expansion) -> Option<i64> {
        let nodes = |expansion: &mut Expansion| {
            self.nodes
                .or_else(|| Some(expansion.of(self.node_list?)?.len() as i64))
        };
        match (self.alloc_nodes, self.ran()) {
            (Some(nodes), _) => Some(nodes),
            (None, Some(true)) => nodes(expansion),
            (None, Some(false)) => Some(0),
            (None, None) => None,
        }
    }

    /// Whether it was ever started, as far as its columns tell.
    fn ran(&self) -> Option<bool> {
        let code = self.state.and_then(|state| state.code);
        let list = self.node_list.map(|list| list != "None assigned");
        if self.start.is_some() || self.elapsed.is_some_and(|seconds| seconds > 0.0) {
            return Some(true);
        }
        match (code, list, self.elapsed) {
            (Some(PENDING), ..) | (_, Some(false), _) => Some(false),
            (_, Some(true), _) => Some(true),
            (_, None, Some(_)) => Some(false),
            (Some(code), None, None) if RAN.contains(&code) => Some(true),
            _ => None,
        }
    }

    fn push_job(&self, times: &Times, expansion: &mut Expansion, builder: &mut TableBuilder) {
        let mut row = Row { builder, at: 0 };
        row.int(self.id.job_id);
        row.text(Some(self.id.text));
        row.time(times.submit);
        row.next().boolean().append_value(true);
        row.text(self.cluster);
        row.text(self.user);
        row.int(self.uid);
        row.text(self.account);
        row.text(self.partition);
        row.text(self.qos);
        row.text(self.name);
        row.state(self.state);
        row.pair(self.exit);
        row.pair(self.derived_exit);
        row.text(self.reason);
        row.time(times.eligible);
        row.time(times.start);
        row.time(times.end);
        row.float(self.elapsed);
        row.float(self.suspended);
        row.float(self.timelimit);
        row.text(self.timelimit_text);
        row.int(self.id.array_job_id);
        row.int(self.id.array_task_id);
        row.text(self.id.array_tasks);
        row.int(self.id.het_job_id);
        row.int(self.id.het_offset);
        row.int(self.node_count(expansion));
        row.int(self.req_nodes);
        row.nodes(self.node_list, expansion);
        row.int(self.ntasks);
        row.int(self.ncpus);
        row.int(self.req_cpus);
        row.int(self.req_mem.map(|m| m.0));
        row.text(self.req_mem.map(|m| m.1));
        row.tres(self.alloc_tres.as_ref());
        row.tres(self.req_tres.as_ref());
        row.float(self.total_cpu);
        row.float(self.user_cpu);
        row.float(self.system_cpu);
        row.int(self.energy);
        row.int(self.priority);
        row.int(self.restarts);
        row.text(self.reservation);
        row.text(self.constraints);
        row.text(self.flags);
        row.text(self.wckey);
        row.text(self.work_dir);
        row.text(self.comment);
        row.text(self.admin_comment);
        row.text(self.system_comment);
        row.text(self.submit_line);
        row.done();
    }

    fn push_step(
        &self,
        step: &str,
        times: &Times,
        expansion: &mut Expansion,
        builder: &mut TableBuilder,
    ) {
        let mut row = Row { builder, at: 0 };
        row.int(self.id.job_id);
        row.text(Some(step));
        row.time(times.start);
        row.text(Some(self.id.text));
        row.time(times.end);
        row.text(self.name);
        row.state(self.state);
        row.pair(self.exit);
        row.float(self.elapsed);
        row.float(self.suspended);
        row.int(self.node_count(expansion));
        row.nodes(self.node_list, expansion);
        row.int(self.ntasks);
        row.int(self.ncpus);
        row.tres(self.alloc_tres.as_ref());
        row.float(self.total_cpu);
        row.float(self.user_cpu);
        row.float(self.system_cpu);
        row.float(self.ave_cpu);
        row.float(self.min_cpu);
        row.task(self.min_cpu_where);
        row.int(self.max_rss);
        row.task(self.max_rss_where);
        row.int(self.ave_rss);
        row.int(self.max_vmsize);
        row.int(self.ave_vmsize);
        row.int(self.max_pages);
        row.int(self.ave_pages);
        row.int(self.max_disk_read);
        row.task(self.max_disk_read_where);
        row.int(self.ave_disk_read);
        row.int(self.max_disk_write);
        row.task(self.max_disk_write_where);
        row.int(self.ave_disk_write);
        row.int(self.energy);
        row.tres(self.usage_in.as_ref());
        row.tres(self.usage_out.as_ref());
        row.text(self.layout);
        row.text(self.cluster);
        row.text(self.submit_line);
        row.done();
    }
}

/// Expands lists of nodes, which records of one job, and jobs after another, often share.
#[derive(Default)]
pub(super) struct Expansion {
    list: String,
    names: Names,
    /// The nodes of the list, if it is one.
    nodes: Option<StringArray>,
    /// Names that were given since they were counted.
    given: usize,
}

impl Expansion {
    fn of(&mut self, list: &str) -> Option<&StringArray> {
        if self.list != list {
            self.list.clear();
            self.list.push_str(list);
            self.nodes = self.names.expand(list).map(|()| self.names.array());
        }
        self.given += self.nodes.as_ref().map_or(0, Array::len);
        self.nodes.as_ref()
    }

    /// Whether so many names were given that whoever keeps them should be relieved; from here on they are counted anew.
    pub(super) fn has_given_many(&mut self) -> bool {
        let many = self.given >= hostlist::MOST;
        if many {
            self.given = 0;
        }
        many
    }
}

/// Fills a row column by column in the order of the schema.
struct Row<'b> {
    builder: &'b mut TableBuilder,
    at: usize,
}

impl Row<'_> {
    fn next(&mut self) -> &mut Column {
        self.at += 1;
        self.builder.column(self.at - 1)
    }

    fn int(&mut self, value: impl Into<Option<i64>>) {
        self.next().int64().push(value);
    }

    fn float(&mut self, value: Option<f64>) {
        self.next().float64().push(value);
    }

    fn time(&mut self, value: Option<i64>) {
        self.next().timestamp().push(value);
    }

    fn text(&mut self, value: Option<&str>) {
        self.next()
            .utf8()
            .append_option(value.filter(|text| !text.is_empty()));
    }

    fn pair(&mut self, value: Option<(i64, i64)>) {
        self.int(value.map(|v| v.0));
        self.int(value.map(|v| v.1));
    }

    fn state(&mut self, state: Option<State<'_>>) {
        self.text(state.map(|s| s.name));
        self.int(state.and_then(|s| s.code));
        self.int(state.and_then(|s| s.by));
    }

    fn task(&mut self, task: Task<'_>) {
        self.text(task.node);
        self.int(task.task);
    }

    /// The list as it was written, and the nodes one by one.
    fn nodes(&mut self, list: Option<&str>, expansion: &mut Expansion) {
        let list =
            list.filter(|list| !list.is_empty() && *list != "None assigned" && *list != "(null)");
        self.text(list);
        let lists = self.next().list();
        match list.and_then(|list| expansion.of(list)) {
            Some(nodes) => {
                let names = lists.items(0).utf8();
                names
                    .append_array(nodes)
                    .expect("a batch is cut long before its names take so much room");
                lists.push(nodes.len());
            }
            None => lists.push_null(),
        }
    }

    fn tres(&mut self, tres: Option<&Tres<'_>>) {
        let maps = self.next().list();
        match tres.filter(|tres| !tres.is_empty()) {
            Some(tres) => {
                for (name, amount) in tres {
                    maps.items(0).utf8().append_value(name);
                    maps.items(1).int64().push(*amount);
                }
                maps.push(tres.len());
            }
            None => maps.push_null(),
        }
    }

    /// The row must be whole: that is a mistake in the program, not in the data.
    fn done(self) {
        assert_eq!(
            self.at,
            self.builder.table().columns.len(),
            "a row of {}",
            self.builder.table().name
        );
    }
}

/// Reads what times stand for once for a whole input.
pub(super) fn clock(context: &crate::source::ReadContext, input: &crate::source::Input) -> Clock {
    Clock::new(context.zone, input.modified())
}
