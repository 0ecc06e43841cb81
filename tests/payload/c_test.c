// SPDX-License-Identifier: Apache-2.0
//
// payload_c.h: the payload component, as a program in C sees it.

#include <stdlib.h>

#include "prefixroute/payload_c.h"
#include "tests/c/check.h"

int failed_checks = 0;

static bool is(prefixroute_payload_text text, const char* expected) {
  if (text.size == 0) return expected[0] == '\0' && text.data == NULL;
  return text.size == strlen(expected) && memcmp(text.data, expected, text.size) == 0;
}

static void read_is(prefixroute_payload_reader* reader, const char* body, prefixroute_payload* payload) {
  CHECK_OK(prefixroute_payload_read(reader, body, strlen(body), PREFIXROUTE_BODY_WHOLE, NULL, 0, payload, NULL));
}

static void reads_bodies(prefixroute_payload_reader* reader) {
  prefixroute_payload payload = {.struct_size = sizeof(payload)};
  read_is(
      reader,
      "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}], \"stream\": true, \"model\": \"m\", \"user\": \"u\","
      " \"lora_path\": \"a\", \"cache_salt\": \"s\", \"prompt_cache_key\": \"k\", \"previous_response_id\": \"\"}",
      &payload);
  CHECK(payload.form == PREFIXROUTE_PAYLOAD_CHAT);
  CHECK(payload.stream == 1);
  CHECK(payload.prompt_bytes == 10);
  CHECK(is(payload.model, "m"));
  CHECK(is(payload.adapter, "a"));
  CHECK(is(payload.cache_salt, "s"));
  CHECK(is(payload.user, "u"));
  CHECK(is(payload.prompt_cache_key, "k"));
  CHECK(is(payload.previous_response_id, ""));
  CHECK(strcmp(payload.fallback, "") == 0);

  // The key is that of the bytes that docs/payloads.md says.
  prefixroute_hasher hasher;
  prefixroute_key key;
  CHECK_OK(prefixroute_hasher_init(&hasher, 1 << 20));
  const char* const scope[] = {"model", "m", "adapter", "a", "cache_salt", "s"};
  for (size_t i = 0; i < 6; ++i) CHECK_OK(prefixroute_hasher_add_scope(&hasher, scope[i], strlen(scope[i])));
  CHECK_OK(prefixroute_hasher_update(&hasher,
                                     "\xffMuser\xff"
                                     "CHi",
                                     10));
  CHECK_OK(prefixroute_hasher_key(&hasher, &key));
  CHECK(prefixroute_key_value(&payload.key) == prefixroute_key_value(&key));
  CHECK(prefixroute_key_bytes(&payload.key) == 10);

  // A router takes it.
  prefixroute_router* router = make_router(3, 0);
  const prefixroute_request request = {.struct_size = sizeof(request), .key = &payload.key};
  prefixroute_lease lease;
  prefixroute_decision decision = {.struct_size = sizeof(decision)};
  CHECK_OK(prefixroute_acquire(router, &request, &lease, &decision, NULL));
  CHECK(decision.prefix_bytes == 10);
  CHECK_OK(prefixroute_finish(router, &lease));
  prefixroute_destroy(router);
}

static void falls_back(prefixroute_payload_reader* reader) {
  prefixroute_payload payload = {.struct_size = sizeof(payload)};
  prefixroute_key key;
  CHECK_OK(prefixroute_payload_read(reader, "Hi", 2, PREFIXROUTE_BODY_WHOLE, "tenant", 6, &payload, NULL));
  CHECK(payload.form == PREFIXROUTE_PAYLOAD_RAW);
  CHECK(strcmp(payload.fallback, "not a JSON object") == 0);
  CHECK_OK(prefixroute_key_make("Hi", 2, "tenant", 6, 1 << 20, &key));
  CHECK(prefixroute_key_value(&payload.key) == prefixroute_key_value(&key));
  CHECK_OK(prefixroute_payload_read(reader, NULL, 0, PREFIXROUTE_BODY_WHOLE, NULL, 0, &payload, NULL));
  CHECK(prefixroute_key_bytes(&payload.key) == 0);
}

static void reads_the_first_part(prefixroute_payload_reader* reader) {
  prefixroute_payload payload = {.struct_size = sizeof(payload)};
  const char* const body = "{\"prompt\": \"Once upon";
  CHECK_OK(prefixroute_payload_read(reader, body, strlen(body), PREFIXROUTE_BODY_FIRST, NULL, 0, &payload, NULL));
  CHECK(payload.form == PREFIXROUTE_PAYLOAD_COMPLETION);
  CHECK(payload.prompt_bytes == 11);
  read_is(reader, body, &payload);
  CHECK(payload.form == PREFIXROUTE_PAYLOAD_RAW);
}

static void refuses_bad_arguments(prefixroute_payload_reader* reader) {
  prefixroute_error error = {""};
  prefixroute_payload payload = {.struct_size = sizeof(payload)};
  CHECK_ERROR(prefixroute_payload_reader_create(1, NULL, &error), PREFIXROUTE_INVALID_ARGUMENT, "reader is null");
  CHECK_ERROR(prefixroute_payload_read(NULL, "", 0, 0, NULL, 0, &payload, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "reader is null");
  CHECK_ERROR(prefixroute_payload_read(reader, "", 0, 0, NULL, 0, NULL, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "payload is null");
  CHECK_ERROR(prefixroute_payload_read(reader, NULL, 1, 0, NULL, 0, &payload, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "body is null");
  CHECK_ERROR(prefixroute_payload_read(reader, "", 0, 0, NULL, 1, &payload, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "scope is null");
  CHECK_ERROR(prefixroute_payload_read(reader, "", 0, 2, NULL, 0, &payload, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "part is 2");
  payload.struct_size -= 8;
  CHECK_ERROR(prefixroute_payload_read(reader, "", 0, 0, NULL, 0, &payload, &error), PREFIXROUTE_INVALID_ARGUMENT,
              "payload.struct_size");

  // A later release's struct is longer; what this one doesn't know stays.
  struct {
    prefixroute_payload known;
    uint64_t unknown;
  } longer = {.known = {.struct_size = sizeof(longer)}, .unknown = 7};
  CHECK_OK(prefixroute_payload_read(reader, "{\"prompt\": \"\"}", 14, 0, NULL, 0, &longer.known, &error));
  CHECK(longer.known.struct_size == sizeof(longer));
  CHECK(longer.unknown == 7);
}

static void names_forms(void) {
  CHECK(strcmp(prefixroute_payload_form_name(PREFIXROUTE_PAYLOAD_RAW), "raw") == 0);
  CHECK(strcmp(prefixroute_payload_form_name(PREFIXROUTE_PAYLOAD_GENERATE), "generate") == 0);
  CHECK(strcmp(prefixroute_payload_form_name(7), "") == 0);
}

int main(void) {
  prefixroute_payload_reader* reader = NULL;
  CHECK_OK(prefixroute_payload_reader_create(1 << 20, &reader, NULL));
  if (reader == NULL) return 1;
  reads_bodies(reader);
  falls_back(reader);
  reads_the_first_part(reader);
  refuses_bad_arguments(reader);
  names_forms();
  prefixroute_payload_reader_destroy(reader);
  prefixroute_payload_reader_destroy(NULL);
  return failed_checks == 0 ? 0 : 1;
}
