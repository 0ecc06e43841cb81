// SPDX-License-Identifier: Apache-2.0

#include "tests/c/check.h"

static void whole(void) {
  prefixroute_key key;
  CHECK_OK(prefixroute_key_make("prompt", 6, NULL, 0, 1 << 20, &key));
  CHECK(prefixroute_key_bytes(&key) == 6 && prefixroute_key_value(&key) != 0);
  prefixroute_key scoped;
  CHECK_OK(prefixroute_key_make("prompt", 6, "model", 5, 1 << 20, &scoped));
  CHECK(prefixroute_key_value(&scoped) != prefixroute_key_value(&key));
  prefixroute_key cut;
  CHECK_OK(prefixroute_key_make("prompt and more", 15, NULL, 0, 6, &cut));
  CHECK(prefixroute_key_value(&cut) == prefixroute_key_value(&key));
  CHECK_OK(prefixroute_key_make(NULL, 0, NULL, 0, 1 << 20, &key));
  CHECK(prefixroute_key_bytes(&key) == 0 && prefixroute_key_value(&key) == 0);
  CHECK_OK(prefixroute_key_from_hash(12345, 100, &key));
  CHECK(prefixroute_key_bytes(&key) == 100 && prefixroute_key_value(&key) == 12345);

  CHECK_STATUS(prefixroute_key_make("prompt", 6, NULL, 0, 1, NULL), PREFIXROUTE_INVALID_ARGUMENT);
  CHECK_STATUS(prefixroute_key_make(NULL, 6, NULL, 0, 1, &key), PREFIXROUTE_INVALID_ARGUMENT);
  CHECK_STATUS(prefixroute_key_make("prompt", 6, NULL, 5, 1, &key), PREFIXROUTE_INVALID_ARGUMENT);
  CHECK_STATUS(prefixroute_key_from_hash(1, 1, NULL), PREFIXROUTE_INVALID_ARGUMENT);
  CHECK(prefixroute_key_value(NULL) == 0 && prefixroute_key_bytes(NULL) == 0);
  prefixroute_key none;
  memset(&none, 0x01, sizeof(none));
  CHECK(prefixroute_key_value(&none) == 0 && prefixroute_key_bytes(&none) == 0);
}

// However the prompt is cut, and wherever the hasher lies.
static void in_pieces(void) {
  char prompt[5000];
  for (size_t i = 0; i < sizeof(prompt); ++i) prompt[i] = (char)(i * i % 251);
  prefixroute_key expected;
  CHECK_OK(prefixroute_key_make(prompt, sizeof(prompt), "model", 5, 4000, &expected));
  prefixroute_hasher hashers[8];
  for (size_t place = 0; place < 8; ++place) {
    // Each of the eight places within a cache line.
    prefixroute_hasher* hasher = (prefixroute_hasher*)(void*)((uint64_t*)(void*)hashers + place);
    CHECK_OK(prefixroute_hasher_init(hasher, 4000));
    CHECK(prefixroute_hasher_full(hasher) == 0);
    CHECK_OK(prefixroute_hasher_add_scope(hasher, "model", 5));
    const size_t piece = 1 + 37 * place;
    for (size_t i = 0; i < sizeof(prompt); i += piece) {
      CHECK_OK(prefixroute_hasher_update(hasher, prompt + i, i + piece < sizeof(prompt) ? piece : sizeof(prompt) - i));
    }
    CHECK(prefixroute_hasher_full(hasher) == 1);
    prefixroute_key key;
    CHECK_OK(prefixroute_hasher_key(hasher, &key));
    CHECK(prefixroute_key_value(&key) == prefixroute_key_value(&expected));
    CHECK(prefixroute_key_bytes(&key) == 4000);
  }
}

static void what_is_no_hasher(void) {
  prefixroute_key key;
  prefixroute_hasher hasher;
  CHECK_OK(prefixroute_hasher_init(&hasher, 100));
  prefixroute_hasher moved = hasher;
  prefixroute_hasher zeros = {{0}};
  prefixroute_hasher* none[] = {&moved, &zeros, NULL, (prefixroute_hasher*)(void*)((char*)&hasher + 1)};
  for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); ++i) {
    CHECK_STATUS(prefixroute_hasher_add_scope(none[i], "a", 1), PREFIXROUTE_INVALID_ARGUMENT);
    CHECK_STATUS(prefixroute_hasher_update(none[i], "a", 1), PREFIXROUTE_INVALID_ARGUMENT);
    CHECK_STATUS(prefixroute_hasher_key(none[i], &key), PREFIXROUTE_INVALID_ARGUMENT);
    CHECK(prefixroute_hasher_full(none[i]) == 0);
  }
  CHECK_STATUS(prefixroute_hasher_init(NULL, 100), PREFIXROUTE_INVALID_ARGUMENT);
  CHECK_STATUS(prefixroute_hasher_init(none[3], 100), PREFIXROUTE_INVALID_ARGUMENT);
  CHECK_STATUS(prefixroute_hasher_add_scope(&hasher, NULL, 1), PREFIXROUTE_INVALID_ARGUMENT);
  CHECK_STATUS(prefixroute_hasher_update(&hasher, NULL, 1), PREFIXROUTE_INVALID_ARGUMENT);
  CHECK_OK(prefixroute_hasher_update(&hasher, NULL, 0));
  CHECK_STATUS(prefixroute_hasher_key(&hasher, NULL), PREFIXROUTE_INVALID_ARGUMENT);
  CHECK_OK(prefixroute_hasher_key(&hasher, &key));
  CHECK(prefixroute_key_bytes(&key) == 0);
}

void keys_test(void) {
  whole();
  in_pieces();
  what_is_no_hasher();
}
