//! The columns that sacct can print, and what a value of each looks like.

/// What a value looks like: by this a line that was split at the wrong place is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// JobID, JobIDRaw.
    Id,
    Time,
    /// `[D-]HH:MM:SS[.mmm]`.
    Duration,
    /// A time limit: a duration or a word.
    Limit,
    Int,
    /// A number with a suffix of powers of 1024.
    Amount,
    /// ReqMem.
    Memory,
    State,
    /// `code:signal`.
    ExitCode,
    Tres,
    /// One piece without white space.
    Word,
    /// One piece: it holds no delimiter, but may hold spaces.
    Line,
    /// Whatever a user wrote: delimiters and line ends as well.
    Free,
}

macro_rules! columns {
    ($($field:ident $name:literal $kind:ident;)*) => {
        /// A column of sacct, in its own spelling.
        #[allow(clippy::upper_case_acronyms)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub(super) enum Column { $($field),* }

        /// Every column: its name and what its values look like.
        const COLUMNS: &[(Column, &str, Kind)] = &[$((Column::$field, $name, Kind::$kind)),*];
    };
}

// Those of sacct 22.05 and 24.11 (`sacct --helpformat`), and of older ones that were renamed since.
columns! {
    Account "Account" Line;
    AdminComment "AdminComment" Free;
    AllocCPUS "AllocCPUS" Amount;
    AllocNodes "AllocNodes" Amount;
    AllocTRES "AllocTRES" Tres;
    AssocID "AssocID" Int;
    AveCPU "AveCPU" Duration;
    AveCPUFreq "AveCPUFreq" Word;
    AveDiskRead "AveDiskRead" Amount;
    AveDiskWrite "AveDiskWrite" Amount;
    AvePages "AvePages" Amount;
    AveRSS "AveRSS" Amount;
    AveVMSize "AveVMSize" Amount;
    BlockID "BlockID" Word;
    Cluster "Cluster" Word;
    Comment "Comment" Free;
    Constraints "Constraints" Word;
    ConsumedEnergy "ConsumedEnergy" Amount;
    ConsumedEnergyRaw "ConsumedEnergyRaw" Int;
    Container "Container" Line;
    CPUTime "CPUTime" Duration;
    CPUTimeRAW "CPUTimeRAW" Int;
    DBIndex "DBIndex" Int;
    DerivedExitCode "DerivedExitCode" ExitCode;
    Elapsed "Elapsed" Duration;
    ElapsedRaw "ElapsedRaw" Int;
    Eligible "Eligible" Time;
    End "End" Time;
    ExitCode "ExitCode" ExitCode;
    Extra "Extra" Free;
    FailedNode "FailedNode" Word;
    Flags "Flags" Word;
    GID "GID" Int;
    Group "Group" Line;
    JobID "JobID" Id;
    JobIDRaw "JobIDRaw" Id;
    JobName "JobName" Free;
    Layout "Layout" Word;
    Licenses "Licenses" Word;
    MaxDiskRead "MaxDiskRead" Amount;
    MaxDiskReadNode "MaxDiskReadNode" Word;
    MaxDiskReadTask "MaxDiskReadTask" Int;
    MaxDiskWrite "MaxDiskWrite" Amount;
    MaxDiskWriteNode "MaxDiskWriteNode" Word;
    MaxDiskWriteTask "MaxDiskWriteTask" Int;
    MaxPages "MaxPages" Amount;
    MaxPagesNode "MaxPagesNode" Word;
    MaxPagesTask "MaxPagesTask" Int;
    MaxRSS "MaxRSS" Amount;
    MaxRSSNode "MaxRSSNode" Word;
    MaxRSSTask "MaxRSSTask" Int;
    MaxVMSize "MaxVMSize" Amount;
    MaxVMSizeNode "MaxVMSizeNode" Word;
    MaxVMSizeTask "MaxVMSizeTask" Int;
    McsLabel "McsLabel" Word;
    MinCPU "MinCPU" Duration;
    MinCPUNode "MinCPUNode" Word;
    MinCPUTask "MinCPUTask" Int;
    NCPUS "NCPUS" Amount;
    NNodes "NNodes" Amount;
    NodeList "NodeList" Line;
    NTasks "NTasks" Amount;
    Partition "Partition" Word;
    Planned "Planned" Duration;
    PlannedCPU "PlannedCPU" Duration;
    PlannedCPURAW "PlannedCPURAW" Int;
    Priority "Priority" Int;
    QOS "QOS" Word;
    QOSRAW "QOSRAW" Int;
    QOSREQ "QOSREQ" Word;
    Reason "Reason" Line;
    ReqCPUFreq "ReqCPUFreq" Word;
    ReqCPUFreqGov "ReqCPUFreqGov" Word;
    ReqCPUFreqMax "ReqCPUFreqMax" Word;
    ReqCPUFreqMin "ReqCPUFreqMin" Word;
    ReqCPUS "ReqCPUS" Amount;
    ReqMem "ReqMem" Memory;
    ReqNodes "ReqNodes" Amount;
    ReqTRES "ReqTRES" Tres;
    Reservation "Reservation" Word;
    ReservationId "ReservationId" Int;
    Reserved "Reserved" Duration;
    Restarts "Restarts" Int;
    ResvCPU "ResvCPU" Duration;
    ResvCPURAW "ResvCPURAW" Int;
    SLUID "SLUID" Word;
    Start "Start" Time;
    State "State" State;
    StdErr "StdErr" Line;
    StdIn "StdIn" Line;
    StdOut "StdOut" Line;
    Submit "Submit" Time;
    SubmitLine "SubmitLine" Free;
    Suspended "Suspended" Duration;
    SystemComment "SystemComment" Free;
    SystemCPU "SystemCPU" Duration;
    Timelimit "Timelimit" Limit;
    TimelimitRaw "TimelimitRaw" Word;
    TotalCPU "TotalCPU" Duration;
    TRESUsageInAve "TRESUsageInAve" Tres;
    TRESUsageInMax "TRESUsageInMax" Tres;
    TRESUsageInMaxNode "TRESUsageInMaxNode" Word;
    TRESUsageInMaxTask "TRESUsageInMaxTask" Word;
    TRESUsageInMin "TRESUsageInMin" Tres;
    TRESUsageInMinNode "TRESUsageInMinNode" Word;
    TRESUsageInMinTask "TRESUsageInMinTask" Word;
    TRESUsageInTot "TRESUsageInTot" Tres;
    TRESUsageOutAve "TRESUsageOutAve" Tres;
    TRESUsageOutMax "TRESUsageOutMax" Tres;
    TRESUsageOutMaxNode "TRESUsageOutMaxNode" Word;
    TRESUsageOutMaxTask "TRESUsageOutMaxTask" Word;
    TRESUsageOutMin "TRESUsageOutMin" Tres;
    TRESUsageOutMinNode "TRESUsageOutMinNode" Word;
    TRESUsageOutMinTask "TRESUsageOutMinTask" Word;
    TRESUsageOutTot "TRESUsageOutTot" Tres;
    UID "UID" Int;
    User "User" Line;
    UserCPU "UserCPU" Duration;
    WCKey "WCKey" Word;
    WCKeyID "WCKeyID" Int;
    WorkDir "WorkDir" Line;
}

impl Column {
    /// How many there are.
    pub(super) const COUNT: usize = COLUMNS.len();

    /// The column of a name, in whatever case. Job arrays of old versions had other names for the same.
    pub(super) fn named(name: &str) -> Option<Self> {
        let name = match name.to_ascii_lowercase().as_str() {
            "maxrssnodes" => "MaxRSSNode",
            "ncpu" => "NCPUS",
            "reqcpu" => "ReqCPUS",
            _ => name,
        };
        COLUMNS
            .iter()
            .find(|(_, known, _)| known.eq_ignore_ascii_case(name))
            .map(|(column, ..)| *column)
    }

    /// As `sacct --helpformat` writes it.
    pub(super) fn name(self) -> &'static str {
        COLUMNS[self as usize].1
    }

    pub(super) fn kind(self) -> Kind {
        COLUMNS[self as usize].2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_lies_where_its_number_says() {
        for (at, (column, name, kind)) in COLUMNS.iter().enumerate() {
            assert_eq!(*column as usize, at);
            assert_eq!((column.name(), column.kind()), (*name, *kind));
            assert_eq!(Column::named(&name.to_uppercase()), Some(*column));
        }
    }
}
