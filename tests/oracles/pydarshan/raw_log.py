"""What libdarshan loses of a log, read from its bytes with the standard library alone (source/darshan/FORMAT.md 1, 6 and 7.1)."""

import struct
import zlib

# Doubles of a POSIX record that libdarshan gets wrong, by position in the current order.
META_TIME, MAX_READ_TIME, MAX_WRITE_TIME, FASTEST_TIME, SLOWEST_TIME, VARIANCE_TIME, VARIANCE_BYTES = range(10, 17)
POSIX, LUSTRE = 1, 8


def inflate(region):
    """A region is a row of zlib streams."""
    out = []
    while region:
        stream = zlib.decompressobj()
        out.append(stream.decompress(region))
        region = stream.unused_data
    return b"".join(out)


class RawLog:
    """Byte order, versions, flags and regions of a log, in the module numbers of version 3.41."""

    def __init__(self, path):
        with open(path, "rb") as file:
            raw = file.read()
        major, minor = raw[:8].split(b"\0")[0].split(b".")
        self.version = (int(major), int(minor))
        self.order = "<" if struct.unpack_from("<q", raw, 8)[0] == 6567223 else ">"
        self.plain = raw[16] == 2
        new = self.version >= (3, 41)
        slots, maps_at, head = (64, 32, 1328) if new else (16, 24, 360)
        flags, = struct.unpack_from(self.order + ("Q" if new else "I"), raw, 24 if new else 20)
        numbers = struct.unpack_from(f"{self.order}{2 * slots + 2}Q", raw, maps_at)
        maps = list(zip(numbers[::2], numbers[1::2]))
        self.versions = list(struct.unpack_from(f"{self.order}{slots}I", raw, maps_at + 16 * (slots + 1)))
        self.partial = [bool(flags >> slot & 1) for slot in range(slots)]
        self.names = self.unpack(raw[maps[0][0]:sum(maps[0])])
        ends = [offset for offset, length in maps if length]
        self.job = self.unpack(raw[head:min(ends, default=len(raw))])
        self.regions = [raw[offset:offset + length] for offset, length in maps[1:]]
        for slot, since in ((4, (3, 20)), (6, (3, 41))):
            if self.version < since:
                for column, nothing in ((self.regions, b""), (self.versions, 0), (self.partial, False)):
                    column.insert(slot, nothing)

    def unpack(self, region):
        return region if self.plain else inflate(region)

    def tail(self):
        """Command line and mounts as they lie in the job region."""
        return self.job[1080 if self.version >= (3, 41) else 1064:4096].split(b"\0")[0]

    def posix_floats(self):
        """(id, rank) -> the doubles of a POSIX record of version 1, 2 or 3, in the current order."""
        n_ints, n_floats = {1: (68, 15), 2: (64, 15), 3: (64, 17)}[self.versions[POSIX]]
        record = struct.Struct(f"{self.order}Qq{n_ints}q{n_floats}d")
        data = self.unpack(self.regions[POSIX])
        found = {}
        for values in record.iter_unpack(data[:len(data) // record.size * record.size]):
            floats = list(values[2 + n_ints:])
            if n_floats == 15:
                floats[3:3] = [-1.0, -1.0]
            found[values[0], values[1]] = floats
        return found

    def posix_floats_lost(self):
        """Doubles of a POSIX record that libdarshan gets wrong in this log: source/darshan/FORMAT.md 12.1 to 12.3."""
        version = self.versions[POSIX]
        lost = {1: set(), 2: {FASTEST_TIME, SLOWEST_TIME, VARIANCE_TIME, VARIANCE_BYTES},
                3: {VARIANCE_TIME, VARIANCE_BYTES}, 4: set()}[version]
        if version == 1:
            lost = lost | {FASTEST_TIME, SLOWEST_TIME, VARIANCE_TIME, VARIANCE_BYTES}
        if self.order == ">" and version < 4:
            lost = lost | {META_TIME, MAX_READ_TIME, MAX_WRITE_TIME}
        return lost

    def lustre_heads(self):
        """(id, rank) -> OSTS, MDTS and STRIPE_OFFSET of LUSTRE records of version 1, which libdarshan drops (12.5)."""
        data, at, found = self.unpack(self.regions[LUSTRE]), 0, {}
        while at < len(data):
            ident, rank, osts, mdts, offset, _, width = struct.unpack_from(self.order + "Qq5q", data, at)
            found[ident, rank] = (osts, mdts, offset)
            at += 56 + 8 * width
        return found
