/* The tile instructions of AMX as functions; they return 0, or trap. */

#ifndef CODEGEN_CPU_C_TILES_H
#define CODEGEN_CPU_C_TILES_H

#include <stdint.h>

#define TILES 8
#define TILE_ROWS 16
#define ROW_BYTES 64

typedef struct tile {
    uint8_t row[TILE_ROWS][ROW_BYTES];
} tile;

/* 8,320 bytes: TILE_STATE of emit/matrix.c. */
typedef struct tiles {
    tile at[TILES];
    int64_t rows[TILES], bytes[TILES]; /* of its shape; 0: it has none */
} tiles;

/* LDTILECFG: shapes, and zeros in all tiles; TILERELEASE. */
int64_t glow_c_tile_begin(tiles *t, const uint8_t *config);
int64_t glow_c_tile_end(tiles *t);

/* TILEZERO, TILELOADD and TILESTORED of tile `r`, with `step` bytes between rows. */
int64_t glow_c_tile_zero(tiles *t, int64_t r);
int64_t glow_c_tile_load(tiles *t, int64_t r, const uint8_t *from,
                         int64_t step);
int64_t glow_c_tile_store(tiles *t, int64_t r, uint8_t *to, int64_t step);

/* TDPBF16PS; TDPBSSD, or TDPBUSD if the left elements are not signed. */
int64_t glow_c_tile_bf16(tiles *t, int64_t sum, int64_t left, int64_t right);
int64_t glow_c_tile_bytes(tiles *t, int64_t sum, int64_t left, int64_t right,
                          int64_t is_signed);

#endif
