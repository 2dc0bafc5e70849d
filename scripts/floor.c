/* The floor of reading Darshan logs: inflates with libdeflate the regions that `bench modules` reads, and does nothing with
 * them. Little-endian zlib logs only. Usage: floor FILE..   Prints the number of logs and of inflated bytes.
 * Build: cc -O2 -o floor floor.c -ldeflate */
#include <libdeflate.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *out;
static size_t room = 64u << 20;

static size_t region(struct libdeflate_decompressor *d, const unsigned char *in, size_t length)
{
    size_t made = 0;
    while (length > 0) {
        size_t taken, n;
        if (libdeflate_zlib_decompress_ex(d, in, length, out, room, &taken, &n) != LIBDEFLATE_SUCCESS)
            exit(3);
        made += n;
        in += taken;
        length -= taken;
    }
    return made;
}

int main(int argc, char **argv)
{
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    unsigned char *log = malloc(room);
    size_t total = 0;
    out = malloc(room);
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (!file)
            return 2;
        size_t length = fread(log, 1, room, file);
        fclose(file);
        int new = memcmp(log, "3.41", 4) == 0;
        int slots = new ? 64 : 16, at = new ? 32 : 24, head = new ? 1328 : 360;
        /* DXT is number 9 and 10 of 3.10 to 3.21 (with H5D), 10 and 11 of 3.41. */
        int dxt = new ? 10 : memcmp(log, "3.2", 3) == 0 ? 9 : 8;
        uint64_t map[2 * 65];
        memcpy(map, log + at, 16 * (slots + 1));
        uint64_t job_end = map[0] ? map[0] : length;
        total += region(d, log + head, job_end - head);
        for (int slot = 0; slot <= slots; slot++)
            if (slot != dxt + 1 && slot != dxt + 2)
                total += region(d, log + map[2 * slot], map[2 * slot + 1]);
    }
    printf("{\"logs\": %d, \"inflated\": %zu}\n", argc - 1, total);
    return 0;
}
