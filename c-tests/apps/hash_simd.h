/* MD5 (RFC 1321) and SHA-256 (FIPS 180-4) of many messages at a time, one in each 32-bit lane
 * of hetmp/simd.h's vectors, and of one message in plain C, which is the reference.
 *
 * Words, not bytes: a block is 16 vectors, lane k of vector i being word i of message k as the
 * hash reads it (MD5 little-endian, SHA-256 big-endian). hash_pack_lanes makes such blocks of
 * messages of at most HASH_ONE_BLOCK bytes, padding included, which covers passwords:
 *
 *     _VU32 block[16], state[8];
 *     hash_pack_lanes(block, texts, lengths, 1);
 *     sha256_start_lanes(state);
 *     sha256_block_lanes(state, block);   // digest word i of message k: lane k of state[i]
 */
#ifndef HASH_SIMD_H
#define HASH_SIMD_H

#include <stdint.h>
#include <string.h>

#include <hetmp/simd.h>

#define HASH_ONE_BLOCK 55 /* bytes of a message that fit into one block with its padding */

/* floor(2^32 * |sin(i + 1)|) */
static const uint32_t md5_sine[64] = {
    0xd76aa478u, 0xe8c7b756u, 0x242070dbu, 0xc1bdceeeu, 0xf57c0fafu, 0x4787c62au,
    0xa8304613u, 0xfd469501u, 0x698098d8u, 0x8b44f7afu, 0xffff5bb1u, 0x895cd7beu,
    0x6b901122u, 0xfd987193u, 0xa679438eu, 0x49b40821u, 0xf61e2562u, 0xc040b340u,
    0x265e5a51u, 0xe9b6c7aau, 0xd62f105du, 0x02441453u, 0xd8a1e681u, 0xe7d3fbc8u,
    0x21e1cde6u, 0xc33707d6u, 0xf4d50d87u, 0x455a14edu, 0xa9e3e905u, 0xfcefa3f8u,
    0x676f02d9u, 0x8d2a4c8au, 0xfffa3942u, 0x8771f681u, 0x6d9d6122u, 0xfde5380cu,
    0xa4beea44u, 0x4bdecfa9u, 0xf6bb4b60u, 0xbebfbc70u, 0x289b7ec6u, 0xeaa127fau,
    0xd4ef3085u, 0x04881d05u, 0xd9d4d039u, 0xe6db99e5u, 0x1fa27cf8u, 0xc4ac5665u,
    0xf4292244u, 0x432aff97u, 0xab9423a7u, 0xfc93a039u, 0x655b59c3u, 0x8f0ccc92u,
    0xffeff47du, 0x85845dd1u, 0x6fa87e4fu, 0xfe2ce6e0u, 0xa3014314u, 0x4e0811a1u,
    0xf7537e82u, 0xbd3af235u, 0x2ad7d2bbu, 0xeb86d391u,
};
/* The first 32 bits of the fractions of the cube roots of the first 64 primes. */
static const uint32_t sha256_cube_root[64] = {
    0x428a2f98u, 0x71374491u, 0xb5c0fbcfu, 0xe9b5dba5u, 0x3956c25bu, 0x59f111f1u,
    0x923f82a4u, 0xab1c5ed5u, 0xd807aa98u, 0x12835b01u, 0x243185beu, 0x550c7dc3u,
    0x72be5d74u, 0x80deb1feu, 0x9bdc06a7u, 0xc19bf174u, 0xe49b69c1u, 0xefbe4786u,
    0x0fc19dc6u, 0x240ca1ccu, 0x2de92c6fu, 0x4a7484aau, 0x5cb0a9dcu, 0x76f988dau,
    0x983e5152u, 0xa831c66du, 0xb00327c8u, 0xbf597fc7u, 0xc6e00bf3u, 0xd5a79147u,
    0x06ca6351u, 0x14292967u, 0x27b70a85u, 0x2e1b2138u, 0x4d2c6dfcu, 0x53380d13u,
    0x650a7354u, 0x766a0abbu, 0x81c2c92eu, 0x92722c85u, 0xa2bfe8a1u, 0xa81a664bu,
    0xc24b8b70u, 0xc76c51a3u, 0xd192e819u, 0xd6990624u, 0xf40e3585u, 0x106aa070u,
    0x19a4c116u, 0x1e376c08u, 0x2748774cu, 0x34b0bcb5u, 0x391c0cb3u, 0x4ed8aa4au,
    0x5b9cca4fu, 0x682e6ff3u, 0x748f82eeu, 0x78a5636fu, 0x84c87814u, 0x8cc70208u,
    0x90befffau, 0xa4506cebu, 0xbef9a3f7u, 0xc67178f2u,
};
static const uint32_t md5_initial[4] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u};
/* The first 32 bits of the fractions of the square roots of the first 8 primes. */
static const uint32_t sha256_initial[8] = {
    0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au, 0x510e527fu, 0x9b05688cu,
    0x1f83d9abu, 0x5be0cd19u,
};

/* ---- one message, plain C ---- */

static inline uint32_t hash_rotl(uint32_t x, unsigned n) { return x << n | x >> (32 - n); }
static inline uint32_t hash_rotr(uint32_t x, unsigned n) { return x >> n | x << (32 - n); }

static inline void md5_block(uint32_t state[4], const uint32_t m[16]) {
    static const unsigned char turn[4][4] = {
        {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    for (unsigned i = 0; i < 64; i++) {
        uint32_t mix;
        unsigned word;
        switch (i / 16) {
        case 0: mix = (b & c) | (~b & d), word = i; break;
        case 1: mix = (b & d) | (c & ~d), word = 5 * i + 1; break;
        case 2: mix = b ^ c ^ d, word = 3 * i + 5; break;
        default: mix = c ^ (b | ~d), word = 7 * i; break;
        }
        const uint32_t next = b + hash_rotl(a + mix + m[word % 16] + md5_sine[i], turn[i / 16][i % 4]);
        a = d, d = c, c = b, b = next;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
}

static inline void sha256_block(uint32_t state[8], const uint32_t block[16]) {
    uint32_t w[64], s[8];
    memcpy(w, block, 64);
    for (int t = 16; t < 64; t++) {
        const uint32_t x = w[t - 15], y = w[t - 2];
        w[t] = w[t - 16] + (hash_rotr(x, 7) ^ hash_rotr(x, 18) ^ x >> 3) + w[t - 7] +
               (hash_rotr(y, 17) ^ hash_rotr(y, 19) ^ y >> 10);
    }
    memcpy(s, state, sizeof s);
    for (int t = 0; t < 64; t++) {
        const uint32_t one = s[7] + (hash_rotr(s[4], 6) ^ hash_rotr(s[4], 11) ^ hash_rotr(s[4], 25)) +
                             ((s[4] & s[5]) ^ (~s[4] & s[6])) + sha256_cube_root[t] + w[t];
        const uint32_t two = (hash_rotr(s[0], 2) ^ hash_rotr(s[0], 13) ^ hash_rotr(s[0], 22)) +
                             ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += one;
        s[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

/* The words of one block from its 64 bytes. */
static inline void hash_words(uint32_t words[16], const unsigned char bytes[64], int big_endian) {
    for (int i = 0; i < 16; i++) {
        const unsigned char *p = bytes + 4 * i;
        words[i] = big_endian ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
                              : (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
    }
}

/* The digest, as words of the state, of a message of any length. */
static inline void hash_message(uint32_t *state, const void *text, size_t length, int sha256) {
    const unsigned char *p = (const unsigned char *)text;
    unsigned char last[128] = {0};
    uint32_t words[16];
    const size_t rest = length % 64, end = rest <= HASH_ONE_BLOCK ? 64 : 128;
    const uint64_t bits = (uint64_t)length * 8;
    if (sha256)
        memcpy(state, sha256_initial, sizeof sha256_initial);
    else
        memcpy(state, md5_initial, sizeof md5_initial);
    memcpy(last, p + (length - rest), rest);
    last[rest] = 0x80;
    for (int i = 0; i < 8; i++)
        last[sha256 ? end - 1 - (size_t)i : end - 8 + (size_t)i] = (unsigned char)(bits >> (8 * i));
    for (size_t done = 0; done < length - rest + end; done += 64) {
        hash_words(words, done < length - rest ? p + done : last + (done - (length - rest)), sha256);
        if (sha256)
            sha256_block(state, words);
        else
            md5_block(state, words);
    }
}
static inline void md5_message(uint32_t state[4], const void *text, size_t length) {
    hash_message(state, text, length, 0);
}
static inline void sha256_message(uint32_t state[8], const void *text, size_t length) {
    hash_message(state, text, length, 1);
}

/* ---- _VU32_SIZE messages ---- */

/* Messages of at most HASH_ONE_BLOCK bytes each, padded, into one block of lanes. Returns 0, or
 * -1 and does nothing if one is longer. */
static inline int hash_pack_lanes(_VU32 block[16], const char *const text[_VU32_SIZE],
                                  const size_t length[_VU32_SIZE], int big_endian) {
    uint32_t words[16][_VU32_SIZE], one[16];
    for (int k = 0; k < _VU32_SIZE; k++)
        if (length[k] > HASH_ONE_BLOCK)
            return -1;
    for (int k = 0; k < _VU32_SIZE; k++) {
        unsigned char bytes[64] = {0};
        const unsigned bits = (unsigned)length[k] * 8;
        memcpy(bytes, text[k], length[k]);
        bytes[length[k]] = 0x80;
        bytes[big_endian ? 63 : 56] = (unsigned char)bits;
        bytes[big_endian ? 62 : 57] = (unsigned char)(bits >> 8);
        hash_words(one, bytes, big_endian);
        for (int i = 0; i < 16; i++)
            words[i][k] = one[i];
    }
    for (int i = 0; i < 16; i++)
        block[i] = _VU32_LOAD(words[i]);
    return 0;
}

static inline void md5_start_lanes(_VU32 state[4]) {
    for (int i = 0; i < 4; i++)
        state[i] = _VU32_SET1(md5_initial[i]);
}
static inline void sha256_start_lanes(_VU32 state[8]) {
    for (int i = 0; i < 8; i++)
        state[i] = _VU32_SET1(sha256_initial[i]);
}

#define MIX_F(x, y, z) _VU32_BITSEL(x, y, z)
#define MIX_G(x, y, z) _VU32_BITSEL(z, x, y)
#define MIX_H(x, y, z) _VU32_XOR(_VU32_XOR(x, y), z)
#define MIX_I(x, y, z) _VU32_XOR(y, _VU32_OR(x, _VU32_NOT(z)))
#define MD5_STEP(mix, a, b, c, d, word, turn, i) \
    do { \
        a = _VU32_ADD(_VU32_ADD(a, mix(b, c, d)), \
                      _VU32_ADD(m[word], _VU32_SET1(md5_sine[i]))); \
        a = _VU32_ADD(b, _VU32_ROTL(a, turn)); \
    } while (0)

/* One block of every lane's message into its state. */
static inline void md5_block_lanes(_VU32 state[4], const _VU32 m[16]) {
    _VU32 a = state[0], b = state[1], c = state[2], d = state[3];
    MD5_STEP(MIX_F, a, b, c, d, 0, 7, 0);
    MD5_STEP(MIX_F, d, a, b, c, 1, 12, 1);
    MD5_STEP(MIX_F, c, d, a, b, 2, 17, 2);
    MD5_STEP(MIX_F, b, c, d, a, 3, 22, 3);
    MD5_STEP(MIX_F, a, b, c, d, 4, 7, 4);
    MD5_STEP(MIX_F, d, a, b, c, 5, 12, 5);
    MD5_STEP(MIX_F, c, d, a, b, 6, 17, 6);
    MD5_STEP(MIX_F, b, c, d, a, 7, 22, 7);
    MD5_STEP(MIX_F, a, b, c, d, 8, 7, 8);
    MD5_STEP(MIX_F, d, a, b, c, 9, 12, 9);
    MD5_STEP(MIX_F, c, d, a, b, 10, 17, 10);
    MD5_STEP(MIX_F, b, c, d, a, 11, 22, 11);
    MD5_STEP(MIX_F, a, b, c, d, 12, 7, 12);
    MD5_STEP(MIX_F, d, a, b, c, 13, 12, 13);
    MD5_STEP(MIX_F, c, d, a, b, 14, 17, 14);
    MD5_STEP(MIX_F, b, c, d, a, 15, 22, 15);
    MD5_STEP(MIX_G, a, b, c, d, 1, 5, 16);
    MD5_STEP(MIX_G, d, a, b, c, 6, 9, 17);
    MD5_STEP(MIX_G, c, d, a, b, 11, 14, 18);
    MD5_STEP(MIX_G, b, c, d, a, 0, 20, 19);
    MD5_STEP(MIX_G, a, b, c, d, 5, 5, 20);
    MD5_STEP(MIX_G, d, a, b, c, 10, 9, 21);
    MD5_STEP(MIX_G, c, d, a, b, 15, 14, 22);
    MD5_STEP(MIX_G, b, c, d, a, 4, 20, 23);
    MD5_STEP(MIX_G, a, b, c, d, 9, 5, 24);
    MD5_STEP(MIX_G, d, a, b, c, 14, 9, 25);
    MD5_STEP(MIX_G, c, d, a, b, 3, 14, 26);
    MD5_STEP(MIX_G, b, c, d, a, 8, 20, 27);
    MD5_STEP(MIX_G, a, b, c, d, 13, 5, 28);
    MD5_STEP(MIX_G, d, a, b, c, 2, 9, 29);
    MD5_STEP(MIX_G, c, d, a, b, 7, 14, 30);
    MD5_STEP(MIX_G, b, c, d, a, 12, 20, 31);
    MD5_STEP(MIX_H, a, b, c, d, 5, 4, 32);
    MD5_STEP(MIX_H, d, a, b, c, 8, 11, 33);
    MD5_STEP(MIX_H, c, d, a, b, 11, 16, 34);
    MD5_STEP(MIX_H, b, c, d, a, 14, 23, 35);
    MD5_STEP(MIX_H, a, b, c, d, 1, 4, 36);
    MD5_STEP(MIX_H, d, a, b, c, 4, 11, 37);
    MD5_STEP(MIX_H, c, d, a, b, 7, 16, 38);
    MD5_STEP(MIX_H, b, c, d, a, 10, 23, 39);
    MD5_STEP(MIX_H, a, b, c, d, 13, 4, 40);
    MD5_STEP(MIX_H, d, a, b, c, 0, 11, 41);
    MD5_STEP(MIX_H, c, d, a, b, 3, 16, 42);
    MD5_STEP(MIX_H, b, c, d, a, 6, 23, 43);
    MD5_STEP(MIX_H, a, b, c, d, 9, 4, 44);
    MD5_STEP(MIX_H, d, a, b, c, 12, 11, 45);
    MD5_STEP(MIX_H, c, d, a, b, 15, 16, 46);
    MD5_STEP(MIX_H, b, c, d, a, 2, 23, 47);
    MD5_STEP(MIX_I, a, b, c, d, 0, 6, 48);
    MD5_STEP(MIX_I, d, a, b, c, 7, 10, 49);
    MD5_STEP(MIX_I, c, d, a, b, 14, 15, 50);
    MD5_STEP(MIX_I, b, c, d, a, 5, 21, 51);
    MD5_STEP(MIX_I, a, b, c, d, 12, 6, 52);
    MD5_STEP(MIX_I, d, a, b, c, 3, 10, 53);
    MD5_STEP(MIX_I, c, d, a, b, 10, 15, 54);
    MD5_STEP(MIX_I, b, c, d, a, 1, 21, 55);
    MD5_STEP(MIX_I, a, b, c, d, 8, 6, 56);
    MD5_STEP(MIX_I, d, a, b, c, 15, 10, 57);
    MD5_STEP(MIX_I, c, d, a, b, 6, 15, 58);
    MD5_STEP(MIX_I, b, c, d, a, 13, 21, 59);
    MD5_STEP(MIX_I, a, b, c, d, 4, 6, 60);
    MD5_STEP(MIX_I, d, a, b, c, 11, 10, 61);
    MD5_STEP(MIX_I, c, d, a, b, 2, 15, 62);
    MD5_STEP(MIX_I, b, c, d, a, 9, 21, 63);
    state[0] = _VU32_ADD(state[0], a);
    state[1] = _VU32_ADD(state[1], b);
    state[2] = _VU32_ADD(state[2], c);
    state[3] = _VU32_ADD(state[3], d);
}
#undef MD5_STEP
#undef MIX_F
#undef MIX_G
#undef MIX_H
#undef MIX_I

/* The schedule is made sixteen words at a time, in place; word t % 16 is the one of round t. */
#define SHA256_WORD(i) \
    do { \
        const _VU32 x = w[((i) + 1) % 16], y = w[((i) + 14) % 16]; \
        const _VU32 low = _VU32_XOR(_VU32_XOR(_VU32_ROTR(x, 7), _VU32_ROTR(x, 18)), _VU32_SHR(x, 3)); \
        const _VU32 high = \
            _VU32_XOR(_VU32_XOR(_VU32_ROTR(y, 17), _VU32_ROTR(y, 19)), _VU32_SHR(y, 10)); \
        w[i] = _VU32_ADD(_VU32_ADD(w[i], low), _VU32_ADD(w[((i) + 9) % 16], high)); \
    } while (0)
/* The majority of three bits is the second where the first two agree, else the third. */
#define SHA256_ROUND(a, b, c, d, e, f, g, h, i) \
    do { \
        const _VU32 turned_e = \
            _VU32_XOR(_VU32_XOR(_VU32_ROTR(e, 6), _VU32_ROTR(e, 11)), _VU32_ROTR(e, 25)); \
        const _VU32 turned_a = \
            _VU32_XOR(_VU32_XOR(_VU32_ROTR(a, 2), _VU32_ROTR(a, 13)), _VU32_ROTR(a, 22)); \
        const _VU32 key = _VU32_ADD(w[i], _VU32_SET1(sha256_cube_root[t + (i)])); \
        const _VU32 one = \
            _VU32_ADD(_VU32_ADD(h, turned_e), _VU32_ADD(_VU32_BITSEL(e, f, g), key)); \
        d = _VU32_ADD(d, one); \
        h = _VU32_ADD(one, _VU32_ADD(turned_a, _VU32_BITSEL(_VU32_XOR(a, b), c, b))); \
    } while (0)

static inline void sha256_block_lanes(_VU32 state[8], const _VU32 block[16]) {
    _VU32 w[16];
    _VU32 a = state[0], b = state[1], c = state[2], d = state[3];
    _VU32 e = state[4], f = state[5], g = state[6], h = state[7];
    for (int i = 0; i < 16; i++)
        w[i] = block[i];
    for (int t = 0; t < 64; t += 16) {
        if (t) {
            SHA256_WORD(0);
            SHA256_WORD(1);
            SHA256_WORD(2);
            SHA256_WORD(3);
            SHA256_WORD(4);
            SHA256_WORD(5);
            SHA256_WORD(6);
            SHA256_WORD(7);
            SHA256_WORD(8);
            SHA256_WORD(9);
            SHA256_WORD(10);
            SHA256_WORD(11);
            SHA256_WORD(12);
            SHA256_WORD(13);
            SHA256_WORD(14);
            SHA256_WORD(15);
        }
        SHA256_ROUND(a, b, c, d, e, f, g, h, 0);
        SHA256_ROUND(h, a, b, c, d, e, f, g, 1);
        SHA256_ROUND(g, h, a, b, c, d, e, f, 2);
        SHA256_ROUND(f, g, h, a, b, c, d, e, 3);
        SHA256_ROUND(e, f, g, h, a, b, c, d, 4);
        SHA256_ROUND(d, e, f, g, h, a, b, c, 5);
        SHA256_ROUND(c, d, e, f, g, h, a, b, 6);
        SHA256_ROUND(b, c, d, e, f, g, h, a, 7);
        SHA256_ROUND(a, b, c, d, e, f, g, h, 8);
        SHA256_ROUND(h, a, b, c, d, e, f, g, 9);
        SHA256_ROUND(g, h, a, b, c, d, e, f, 10);
        SHA256_ROUND(f, g, h, a, b, c, d, e, 11);
        SHA256_ROUND(e, f, g, h, a, b, c, d, 12);
        SHA256_ROUND(d, e, f, g, h, a, b, c, 13);
        SHA256_ROUND(c, d, e, f, g, h, a, b, 14);
        SHA256_ROUND(b, c, d, e, f, g, h, a, 15);
    }
    state[0] = _VU32_ADD(state[0], a);
    state[1] = _VU32_ADD(state[1], b);
    state[2] = _VU32_ADD(state[2], c);
    state[3] = _VU32_ADD(state[3], d);
    state[4] = _VU32_ADD(state[4], e);
    state[5] = _VU32_ADD(state[5], f);
    state[6] = _VU32_ADD(state[6], g);
    state[7] = _VU32_ADD(state[7], h);
}
#undef SHA256_WORD
#undef SHA256_ROUND

#endif
