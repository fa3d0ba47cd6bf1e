/* What a program says of itself that exists for two instruction sets, with what nodes share at the same addresses in
   both. `hetcc` makes such programs; this one is made by hand, for programs with one region: half.ld puts the region's
   function and the variables where they belong. The note's form is in runtime/core/src/multi_isa.rs. */
#include <stdint.h>

#ifdef __aarch64__
enum { OWN = 183, OTHER = 62 };
#else
enum { OWN = 62, OTHER = 183 };
#endif

#ifndef PROGRAM
#define PROGRAM 1
#endif

extern char half_text[], half_text_end[], half_data[], half_data_end[];

__attribute__((section(".note.hetmp.program"), used, aligned(4))) static const struct {
    uint32_t name_bytes, bytes, type;
    char name[8];
    uint32_t version;
    uint16_t own, other;
    uint8_t program[16], layout[16];
    char *ranges[10] __attribute__((packed, aligned(4)));
} note = {
    6, 120, 1, "hetmp", 1, OWN, OTHER, {PROGRAM}, {1},
    {half_text, half_text_end, 0, 0, half_data, half_data_end, 0, 0, 0, 0},
};
