//! LUSTRE records: which OSTs hold a file.
//!
//! ```text
//! version 1: id u64, rank, OSTS, MDTS, STRIPE_OFFSET, STRIPE_SIZE, STRIPE_WIDTH, OST ids[STRIPE_WIDTH]          (i64 each)
//! version 2: id u64, rank, components, stripes, component[components], OST ids[stripes]
//! component: STRIPE_SIZE, STRIPE_COUNT, STRIPE_PATTERN, FLAGS, EXT_START, EXT_END, MIRROR_ID, pool char[16]     (72 bytes)
//! ```
//!
//! A version 1 record is read as one component over the whole file. The OST ids of version 2 follow all component slots,
//! concatenated in component order; a slot whose STRIPE_SIZE is -1 ends the list of components.
//!
//! Source: FORMAT.md 7.1. Differs from libdarshan 3.5.0, which drops OSTS, MDTS and STRIPE_OFFSET (FORMAT.md 12.5).

use super::{Walk, int, int_of, swap_words};
use crate::table::{Lists, TableBuilder};

const COMPONENT: usize = 72;

/// The layout of one file as one process saw it.
#[derive(Clone, Copy)]
pub struct Layout<'a> {
    /// Record id of the file.
    pub id: u64,
    /// The process; -1 for all.
    pub rank: i64,
    /// OSTs of the file system; None where the log does not say.
    pub osts: Option<i64>,
    /// MDTs of the file system; None where the log does not say.
    pub mdts: Option<i64>,
    /// OST index asked for the first stripe, -1 any; None where the log does not say.
    pub stripe_offset: Option<i64>,
    slots: Slots<'a>,
    ids: &'a [u8],
}

#[derive(Clone, Copy)]
enum Slots<'a> {
    One { stripe_size: i64, stripe_count: i64 },
    Many(&'a [u8]),
}

/// One component of a layout.
#[derive(Clone, Copy)]
pub struct Component<'a> {
    /// Bytes of a stripe.
    pub stripe_size: i64,
    /// Stripes in a round.
    pub stripe_count: i64,
    /// 0 raid0, 2 on the metadata target, 4 overstriped, 8 foreign; -1 where the log does not say.
    pub stripe_pattern: i64,
    /// Lustre's component flags; -1 where the log does not say.
    pub flags: i64,
    /// First byte of the file that it holds.
    pub ext_start: i64,
    /// End of those bytes; -1 for the end of the file.
    pub ext_end: i64,
    /// Number of the mirror; 0 without mirrors, -1 where the log does not say.
    pub mirror_id: i64,
    /// Name of the OST pool; empty without one.
    pub pool: &'a [u8],
    ids: &'a [u8],
}

impl<'a> Layout<'a> {
    /// Reads the record at the front of `bytes`, which [`walk`] has found whole.
    pub(in crate::source::darshan) fn read(bytes: &'a [u8], version: u32) -> Self {
        let known = |v: i64| (v >= 0).then_some(v);
        let mut layout = Self {
            id: int(bytes, 0) as u64,
            rank: int(bytes, 8),
            osts: None,
            mdts: None,
            stripe_offset: None,
            slots: Slots::Many(&[]),
            ids: &[],
        };
        if version == 1 {
            layout.osts = known(int(bytes, 16));
            layout.mdts = known(int(bytes, 24));
            layout.stripe_offset = Some(int(bytes, 32));
            layout.slots = Slots::One {
                stripe_size: int(bytes, 40),
                stripe_count: int(bytes, 48),
            };
            layout.ids = bytes.get(56..).unwrap_or_default();
        } else {
            let end = 32 + COMPONENT.saturating_mul(int(bytes, 16).max(0) as usize);
            layout.slots = Slots::Many(bytes.get(32..end).unwrap_or_default());
            layout.ids = bytes.get(end..).unwrap_or_default();
        }
        layout
    }

    /// Its components, in order.
    pub fn components(&self) -> impl Iterator<Item = Component<'a>> + Clone + use<'a> {
        let (slots, mut ids, mut at) = (self.slots, self.ids, 0);
        std::iter::from_fn(move || {
            let mut component = match slots {
                Slots::One {
                    stripe_size,
                    stripe_count,
                } if at == 0 => Component {
                    stripe_size,
                    stripe_count,
                    stripe_pattern: -1,
                    flags: -1,
                    ext_start: 0,
                    ext_end: -1,
                    mirror_id: -1,
                    pool: &[],
                    ids: &[],
                },
                Slots::One { .. } => return None,
                Slots::Many(bytes) => {
                    let slot = bytes.get(at..at + COMPONENT)?;
                    let pool = slot.get(56..)?;
                    Component {
                        stripe_size: int(slot, 0),
                        stripe_count: int(slot, 8),
                        stripe_pattern: int(slot, 16),
                        flags: int(slot, 24),
                        ext_start: int(slot, 32),
                        ext_end: int(slot, 40),
                        mirror_id: int(slot, 48),
                        pool: pool.split(|b| *b == 0).next().unwrap_or_default(),
                        ids: &[],
                    }
                }
            };
            if component.stripe_size == -1 && matches!(slots, Slots::Many(_)) {
                return None;
            }
            at += COMPONENT;
            let own = (component.stripe_count.max(0) as usize)
                .saturating_mul(8)
                .min(ids.len());
            (component.ids, ids) = ids.split_at(own);
            Some(component)
        })
    }
}

impl<'a> Component<'a> {
    /// Its OST indexes in stripe order; -1 where one is unknown.
    pub fn osts(&self) -> impl ExactSizeIterator<Item = i64> + Clone + use<'a> {
        self.ids.chunks_exact(8).map(|id| int(id, 0))
    }
}

/// Finds the records of a region, makes their numbers little-endian if `swap`, and notes where each begins.
pub(in crate::source::darshan) fn walk(
    bytes: &mut [u8],
    version: u32,
    swap: bool,
    starts: &mut Vec<usize>,
) -> Walk {
    let mut at = 0;
    while at < bytes.len() {
        let head = if version == 1 { 56 } else { 32 };
        let left = bytes.len() - at;
        if left < head {
            return Err((
                at,
                format!("{left} bytes are left where a record takes at least {head}"),
            ));
        }
        let number = |at: usize| int_of(bytes, at, swap);
        let (components, stripes) = match version {
            1 => (0, number(at + 48)),
            _ => (number(at + 16), number(at + 24)),
        };
        let size = || -> Option<usize> {
            let ids = usize::try_from(stripes).ok()?.checked_mul(8)?;
            usize::try_from(components)
                .ok()?
                .checked_mul(COMPONENT)?
                .checked_add(ids)?
                .checked_add(head)
                .filter(|size| *size <= left)
        };
        let size = size().ok_or_else(|| (at, format!("{components} components and {stripes} stripes do not fit the {left} bytes that are left")))?;
        let ids_at = at + head + COMPONENT * components as usize;
        let counts = (at + head..ids_at)
            .step_by(COMPONENT)
            .take_while(|slot| number(*slot) != -1)
            .map(|slot| number(slot + 8));
        let sum = counts.into_iter().try_fold(0i64, |sum, count| {
            sum.checked_add(count).filter(|_| count >= 0)
        });
        if version != 1 && sum.is_none_or(|sum| sum > stripes) {
            return Err((
                at,
                format!("its components have more than its {stripes} stripes"),
            ));
        }
        if swap {
            swap_words(bytes, at, at + head);
            for slot in (at + head..ids_at).step_by(COMPONENT) {
                swap_words(bytes, slot, slot + 56);
            }
            swap_words(bytes, ids_at, at + size);
        }
        starts.push(at);
        at += size;
    }
    Ok(())
}

/// Clears the names of pools of a record, which [`walk`] has found whole.
pub(in crate::source::darshan) fn clear_pools(record: &mut [u8], version: u32, components: i64) {
    if version == 1 {
        return;
    }
    let slots = record.get_mut(32..).unwrap_or_default();
    let slots = slots.chunks_exact_mut(COMPONENT);
    for slot in slots.take(usize::try_from(components).unwrap_or(0)) {
        slot.get_mut(56..).unwrap_or_default().fill(0);
    }
}

/// Appends records to `darshan_lustre`, column by column.
pub(in crate::source::darshan) fn fill<'a>(
    layouts: impl Iterator<Item = Layout<'a>>,
    log_id: i64,
    job_id: i64,
    builder: &mut TableBuilder,
) {
    let layouts: Vec<Layout<'a>> = layouts.collect();
    let mut all: Vec<Component<'a>> = Vec::with_capacity(layouts.len());
    // Where the components of each layout end in `all`.
    let mut ends = Vec::with_capacity(layouts.len());
    for layout in &layouts {
        all.extend(layout.components());
        ends.push(all.len());
    }
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let spans: Vec<&[Component<'a>]> = starts
        .zip(&ends)
        .map(|(from, to)| &all[from..*to])
        .collect();

    let known = |v: i64| v >= 0;
    let n = layouts.len();
    builder.column(0).int64().extend_constant(log_id, n);
    builder.column(1).int64().extend_constant(job_id, n);
    let ids = layouts.iter().map(|layout| layout.id);
    builder.column(2).uint64().extend(ids, |_| true);
    let ranks = layouts.iter().map(|layout| layout.rank);
    builder.column(3).int64().extend(ranks, |_| true);
    let osts = layouts.iter().map(|layout| layout.osts.unwrap_or(-1));
    builder.column(4).int64().extend(osts, known);
    let mdts = layouts.iter().map(|layout| layout.mdts.unwrap_or(-1));
    builder.column(5).int64().extend(mdts, known);
    // An offset of -1 is a value, any OST.
    let offsets = builder.column(6).int64();
    layouts
        .iter()
        .for_each(|layout| offsets.push(layout.stripe_offset));
    let sizes = spans
        .iter()
        .map(|span| span.first().map_or(-1, |c| c.stripe_size));
    builder.column(7).int64().extend(sizes, known);
    let counts = spans
        .iter()
        .map(|span| span.first().map_or(-1, |c| c.stripe_count));
    builder.column(8).int64().extend(counts, known);
    let components = spans.iter().map(|span| span.len() as i64);
    builder.column(9).int64().extend(components, known);
    let stripes = |span: &[Component<'a>]| -> usize { span.iter().map(|c| c.osts().len()).sum() };
    let widths = spans.iter().map(|span| stripes(span) as i64);
    builder.column(10).int64().extend(widths, known);

    let lists = builder.column(11).list();
    fill_osts(&all, lists);
    lists.extend(spans.iter().map(|span| stripes(span)));
    let lists = builder.column(12).list();
    fill_components(&all, lists);
    lists.extend(spans.iter().map(|span| span.len()));
}

/// Appends the OST indexes of all components to the items of a list; NULL where one is unknown or absurd.
fn fill_osts(components: &[Component<'_>], lists: &mut Lists) {
    let items = lists.items(0).int32();
    for component in components {
        let osts = component.osts();
        items.extend(osts.map(|ost| i32::try_from(ost).unwrap_or(-1)), |ost| {
            ost >= 0
        });
    }
}

/// Appends components to the items of a list, field by field.
fn fill_components(all: &[Component<'_>], lists: &mut Lists) {
    let mut number = |field: usize, value: fn(&Component<'_>) -> i64, least: i64| {
        let items = lists.items(field).int64();
        items.extend(all.iter().map(value), |v| v >= least);
    };
    number(0, |c| c.stripe_size, 0);
    number(1, |c| c.stripe_count, 0);
    number(2, |c| c.stripe_pattern, 0);
    number(3, |c| c.flags, 0);
    number(4, |c| c.ext_start, 0);
    // -1 is the end of the file.
    number(5, |c| c.ext_end, i64::MIN);
    number(6, |c| c.mirror_id, 0);
    let pools = lists.items(7).utf8();
    for component in all {
        let named = Some(component.pool).filter(|pool| !pool.is_empty());
        pools.append_option(named.map(String::from_utf8_lossy));
    }
    let lists = lists.items(8).list();
    fill_osts(all, lists);
    lists.extend(all.iter().map(|component| component.osts().len()));
}
