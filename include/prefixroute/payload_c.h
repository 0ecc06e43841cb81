// SPDX-License-Identifier: Apache-2.0
//
// The payload component for C: the key of a request from its JSON body. payload.h says what things mean, c.h how
// structs, memory and errors are handled. C11 and C++.
//
//   prefixroute_payload_reader* reader;  // One a thread, kept.
//   if (prefixroute_payload_reader_create(1 << 20, &reader, &error) != PREFIXROUTE_OK) fail(error.text);
//
//   prefixroute_payload payload = {.struct_size = sizeof payload};
//   prefixroute_payload_read(reader, body, body_size, PREFIXROUTE_BODY_WHOLE, NULL, 0, &payload, NULL);
//   prefixroute_request request = {.struct_size = sizeof request, .key = &payload.key};

#ifndef PREFIXROUTE_PAYLOAD_C_H_
#define PREFIXROUTE_PAYLOAD_C_H_

#include "prefixroute/c.h"

#ifdef __cplusplus
extern "C" {
#endif

// NOLINTBEGIN(readability-identifier-naming,modernize-use-using): C's names, and C.

// PayloadForm of payload.h.
enum {
  PREFIXROUTE_PAYLOAD_RAW = 0,
  PREFIXROUTE_PAYLOAD_CHAT = 1,
  PREFIXROUTE_PAYLOAD_ANTHROPIC_MESSAGES = 2,
  PREFIXROUTE_PAYLOAD_COMPLETION = 3,
  PREFIXROUTE_PAYLOAD_RESPONSES = 4,
  PREFIXROUTE_PAYLOAD_INPUTS = 5,
  PREFIXROUTE_PAYLOAD_GENERATE = 6
};

// BodyPart of payload.h.
enum { PREFIXROUTE_BODY_WHOLE = 0, PREFIXROUTE_BODY_FIRST = 1 };

typedef struct prefixroute_payload_reader prefixroute_payload_reader;

// Bytes without a NUL at their end.
typedef struct prefixroute_payload_text {
  const char* data;  // Null where `size` is 0.
  size_t size;
} prefixroute_payload_text;

// Payload of payload.h. The texts are valid until the reader's next read or its end, and while the body is; all else is
// the caller's.
typedef struct prefixroute_payload {
  uint32_t struct_size;
  uint32_t form;
  uint32_t stream;    // 0 or 1.
  uint32_t reserved;  // 0.
  uint64_t prompt_bytes;
  prefixroute_key key;
  prefixroute_payload_text model;
  prefixroute_payload_text adapter;
  prefixroute_payload_text cache_salt;
  prefixroute_payload_text user;
  prefixroute_payload_text prompt_cache_key;
  prefixroute_payload_text previous_response_id;
  const char* fallback;  // Ends with NUL, lives as long as the library; "" where the form is not raw.
} prefixroute_payload;

// Makes a reader, which is the caller's to destroy, and for one thread at a time. `max_prefix_bytes` as for keys (c.h).
PREFIXROUTE_EXPORT prefixroute_status prefixroute_payload_reader_create(uint64_t max_prefix_bytes,
                                                                        prefixroute_payload_reader** reader,
                                                                        prefixroute_error* error) PREFIXROUTE_NOEXCEPT;
// Null: nothing.
PREFIXROUTE_EXPORT void prefixroute_payload_reader_destroy(prefixroute_payload_reader* reader) PREFIXROUTE_NOEXCEPT;

// PayloadReader::Read(). `part` is one of PREFIXROUTE_BODY_*. Whatever is in the body is no error; OUT_OF_MEMORY can
// come of a model name, or another of the texts, that is written with escapes. Hot.
PREFIXROUTE_EXPORT prefixroute_status prefixroute_payload_read(prefixroute_payload_reader* reader, const void* body,
                                                               size_t body_size, uint32_t part, const void* scope,
                                                               size_t scope_size, prefixroute_payload* payload,
                                                               prefixroute_error* error) PREFIXROUTE_NOEXCEPT;

// "chat", fit for logs and metrics; "" for a number that is none. Lives as long as the library.
PREFIXROUTE_EXPORT const char* prefixroute_payload_form_name(uint32_t form) PREFIXROUTE_NOEXCEPT;

// NOLINTEND(readability-identifier-naming,modernize-use-using)

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // PREFIXROUTE_PAYLOAD_C_H_
