//! The fields of a line to a record.

use super::clock::{Clock, Moment};
use super::column::{Column, Kind};
use super::record::{Record, Task};
use super::value::{self, Tres};

/// Whether a column can hold this.
pub(super) fn holds(column: Column, text: &str, clock: &mut Clock) -> bool {
    match column.kind() {
        Kind::Id => value::id(text, None).is_some(),
        Kind::Time => clock.is_time(text),
        Kind::Duration => value::duration(text).is_some(),
        Kind::Limit => value::duration(text).is_some() || is_no_limit(text),
        Kind::Int => value::int(text).is_some(),
        Kind::Amount => value::amount(text).is_some(),
        Kind::Memory => value::req_mem(text).is_some(),
        Kind::State => value::state(text).is_some(),
        Kind::ExitCode => value::exit_code(text).is_some(),
        Kind::Tres => value::tres(text).is_some(),
        Kind::Word | Kind::Line | Kind::Free => true,
    }
}

fn is_no_limit(text: &str) -> bool {
    ["UNLIMITED", "Partition_Limit"]
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word))
}

/// The record of a line's fields, which lie where the numbers of their columns say; else the column whose value is none. Lists of
/// resources are made of `spare` ones.
#[inline(always)]
pub(super) fn parse<'t>(
    fields: &[Option<&'t str>; Column::COUNT],
    clock: &mut Clock,
    spare: &mut Vec<Tres<'t>>,
) -> Result<Record<'t>, Column> {
    use Column as C;
    let get = |column: Column| fields[column as usize];
    let text = |column| get(column).filter(|text| !text.is_empty());
    fn read<'t, T>(
        fields: &[Option<&'t str>; Column::COUNT],
        column: Column,
        read: impl FnOnce(&'t str) -> Option<Option<T>>,
    ) -> Result<Option<T>, Column> {
        fields[column as usize].map_or(Ok(None), |text| read(text).ok_or(column))
    }
    let int = |column| read(fields, column, value::int);
    let amount = |column| read(fields, column, value::amount);
    let duration = |column| read(fields, column, value::duration);
    let mut tres = |column| {
        read(fields, column, |text| {
            let mut list = spare.pop().unwrap_or_default();
            value::tres_into(text, &mut list).then_some(Some(list))
        })
    };
    let exit = |column| read(fields, column, value::exit_code);
    let mut time = |column| -> Result<Option<Moment>, Column> {
        get(column).map_or(Ok(None), |text| clock.read(text).ok_or(column))
    };
    let task = |node, number| {
        Ok(Task {
            node: text(node),
            task: int(number)?,
        })
    };
    let (shown, raw) = (get(C::JobID), get(C::JobIDRaw));
    let id = value::id(shown.or(raw).ok_or(C::JobID)?, raw).ok_or(C::JobID)?;
    let elapsed = match int(C::ElapsedRaw)? {
        Some(seconds) => Some(seconds as f64),
        None => duration(C::Elapsed)?,
    };
    let limit = get(C::TimelimitRaw).filter(|text| !text.is_empty() && !is_no_limit(text));
    let timelimit = match (limit, get(C::Timelimit)) {
        (Some(minutes), _) => value::int(minutes)
            .ok_or(C::TimelimitRaw)?
            .map(|minutes| minutes as f64 * 60.0),
        (None, Some(limit)) if !is_no_limit(limit) => value::duration(limit).ok_or(C::Timelimit)?,
        _ => None,
    };
    Ok(Record {
        id,
        cluster: text(C::Cluster),
        user: text(C::User),
        uid: int(C::UID)?,
        account: text(C::Account),
        partition: text(C::Partition),
        qos: text(C::QOS),
        name: text(C::JobName),
        state: get(C::State).map_or(Ok(None), |text| {
            value::state(text).map(Some).ok_or(C::State)
        })?,
        exit: exit(C::ExitCode)?,
        derived_exit: exit(C::DerivedExitCode)?,
        reason: text(C::Reason),
        submit: time(C::Submit)?,
        eligible: time(C::Eligible)?,
        start: time(C::Start)?,
        end: time(C::End)?,
        elapsed,
        suspended: duration(C::Suspended)?,
        timelimit,
        timelimit_text: text(C::Timelimit)
            .or(text(C::TimelimitRaw).filter(|text| is_no_limit(text))),
        nodes: amount(C::NNodes)?,
        alloc_nodes: amount(C::AllocNodes)?,
        req_nodes: amount(C::ReqNodes)?,
        node_list: text(C::NodeList),
        ntasks: amount(C::NTasks)?,
        ncpus: amount(C::NCPUS)?.or(amount(C::AllocCPUS)?),
        req_cpus: amount(C::ReqCPUS)?,
        req_mem: read(fields, C::ReqMem, value::req_mem)?,
        alloc_tres: tres(C::AllocTRES)?,
        req_tres: tres(C::ReqTRES)?,
        usage_in: tres(C::TRESUsageInTot)?,
        usage_out: tres(C::TRESUsageOutTot)?,
        total_cpu: duration(C::TotalCPU)?,
        user_cpu: duration(C::UserCPU)?,
        system_cpu: duration(C::SystemCPU)?,
        ave_cpu: duration(C::AveCPU)?,
        min_cpu: duration(C::MinCPU)?,
        min_cpu_where: task(C::MinCPUNode, C::MinCPUTask)?,
        max_rss: amount(C::MaxRSS)?,
        max_rss_where: task(C::MaxRSSNode, C::MaxRSSTask)?,
        ave_rss: amount(C::AveRSS)?,
        max_vmsize: amount(C::MaxVMSize)?,
        ave_vmsize: amount(C::AveVMSize)?,
        max_pages: amount(C::MaxPages)?,
        ave_pages: amount(C::AvePages)?,
        max_disk_read: amount(C::MaxDiskRead)?,
        max_disk_read_where: task(C::MaxDiskReadNode, C::MaxDiskReadTask)?,
        ave_disk_read: amount(C::AveDiskRead)?,
        max_disk_write: amount(C::MaxDiskWrite)?,
        max_disk_write_where: task(C::MaxDiskWriteNode, C::MaxDiskWriteTask)?,
        ave_disk_write: amount(C::AveDiskWrite)?,
        energy: int(C::ConsumedEnergyRaw)?.or(amount(C::ConsumedEnergy)?),
        priority: int(C::Priority)?,
        restarts: int(C::Restarts)?,
        reservation: text(C::Reservation),
        constraints: text(C::Constraints),
        flags: text(C::Flags),
        wckey: text(C::WCKey),
        work_dir: text(C::WorkDir),
        comment: text(C::Comment),
        admin_comment: text(C::AdminComment),
        system_comment: text(C::SystemComment),
        submit_line: text(C::SubmitLine),
        layout: text(C::Layout),
    })
}
