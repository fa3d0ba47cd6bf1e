/* The hashes of c-tests/apps/hash_simd.h: the published digests, and lanes against plain C. */
#include "check.h"

#include "../apps/hash_simd.h"

static void expect_digest(const char *name, const char *text, size_t length, int sha256,
                          const char *hex) {
    uint32_t state[8];
    char got[65];
    hash_message(state, text, length, sha256);
    for (int i = 0; i < (sha256 ? 8 : 4); i++)
        snprintf(got + 8 * i, 9, "%08x", sha256 ? state[i] : __builtin_bswap32(state[i]));
    EXPECT(name, strcmp(got, hex) == 0);
}

int main(void) {
    /* RFC 1321, A.5; FIPS 180-4's examples. */
    expect_digest("MD5", "", 0, 0, "d41d8cd98f00b204e9800998ecf8427e");
    expect_digest("MD5", "abc", 3, 0, "900150983cd24fb0d6963f7d28e17f72");
    expect_digest("MD5", "message digest", 14, 0, "f96b697d7cb7938d525a2f31aaf161d0");
    expect_digest("MD5",
                  "123456789012345678901234567890123456789012345678901234567890123456789012345678"
                  "90",
                  80, 0, "57edf4a22be3c955ac49da2e2107b67a");
    expect_digest("SHA-256", "", 0, 1,
                  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect_digest("SHA-256", "abc", 3, 1,
                  "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect_digest("SHA-256", "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, 1,
                  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");

    for (int trial = 0; trial < 300; trial++) {
        char text[_VU32_SIZE][HASH_ONE_BLOCK];
        const char *texts[_VU32_SIZE];
        size_t length[_VU32_SIZE];
        _VU32 block[16], state[8];
        for (int k = 0; k < _VU32_SIZE; k++) {
            length[k] = trial < 56 ? (size_t)trial : random64() % (HASH_ONE_BLOCK + 1);
            for (size_t i = 0; i < HASH_ONE_BLOCK; i++)
                text[k][i] = (char)random64();
            texts[k] = text[k];
        }
        for (int sha256 = 0; sha256 < 2; sha256++) {
            if (hash_pack_lanes(block, texts, length, sha256)) {
                EXPECT("pack", 0);
                continue;
            }
            if (sha256) {
                sha256_start_lanes(state);
                sha256_block_lanes(state, block);
            } else {
                md5_start_lanes(state);
                md5_block_lanes(state, block);
            }
            for (int k = 0; k < _VU32_SIZE; k++) {
                uint32_t want[8];
                hash_message(want, text[k], length[k], sha256);
                for (int i = 0; i < (sha256 ? 8 : 4); i++)
                    EXPECT(sha256 ? "SHA-256 lanes" : "MD5 lanes",
                           _VU32_EXTRACT(state[i], (size_t)k) == want[i]);
            }
        }
        length[trial % _VU32_SIZE] = HASH_ONE_BLOCK + 1;
        EXPECT("a message too long", hash_pack_lanes(block, texts, length, 1) == -1);
    }
    return verdict();
}
