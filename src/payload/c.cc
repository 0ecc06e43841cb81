// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "prefixroute/payload.h"
#include "prefixroute/payload_c.h"
#include "src/c/call.h"
#include "src/c/keys.h"

using prefixroute::BodyPart;
using prefixroute::Payload;
using prefixroute::PayloadForm;
using prefixroute::PayloadReader;
using prefixroute::c::CheckMemory;
using prefixroute::c::CheckNotNull;
using prefixroute::c::CheckRoom;
using prefixroute::c::Guarded;
using prefixroute::c::Invalid;

namespace {

static_assert(PREFIXROUTE_PAYLOAD_GENERATE == static_cast<int>(PayloadForm::kGenerate));

PayloadReader& ReaderOf(prefixroute_payload_reader* reader) { return *reinterpret_cast<PayloadReader*>(reader); }

std::string_view View(const void* bytes, size_t size) { return {static_cast<const char*>(bytes), size}; }

prefixroute_payload_text TextOf(std::string_view text) { return {text.empty() ? nullptr : text.data(), text.size()}; }

void WritePayload(const Payload& in, prefixroute_payload* out) {
  out->form = static_cast<uint32_t>(in.form);
  out->stream = in.stream ? 1 : 0;
  out->reserved = 0;
  out->prompt_bytes = in.prompt_bytes;
  prefixroute::c::WriteKey(in.key, &out->key);
  out->model = TextOf(in.model);
  out->adapter = TextOf(in.adapter);
  out->cache_salt = TextOf(in.cache_salt);
  out->user = TextOf(in.user);
  out->prompt_cache_key = TextOf(in.prompt_cache_key);
  out->previous_response_id = TextOf(in.previous_response_id);
  // A view of a literal, which ends with NUL; or of nothing.
  out->fallback = in.fallback.empty() ? "" : in.fallback.data();
}

}  // namespace

extern "C" {

prefixroute_status prefixroute_payload_reader_create(uint64_t max_prefix_bytes, prefixroute_payload_reader** reader,
                                                     prefixroute_error* error) noexcept {
  return Guarded(error, [&]() -> prefixroute_status {
    PREFIXROUTE_RETURN_IF_BAD(CheckNotNull(error, "reader", reader));
    *reader =
        reinterpret_cast<prefixroute_payload_reader*>(std::make_unique<PayloadReader>(max_prefix_bytes).release());
    return PREFIXROUTE_OK;
  });
}

void prefixroute_payload_reader_destroy(prefixroute_payload_reader* reader) noexcept {
  if (reader != nullptr) delete &ReaderOf(reader);
}

prefixroute_status prefixroute_payload_read(prefixroute_payload_reader* reader, const void* body, size_t body_size,
                                            uint32_t part, const void* scope, size_t scope_size,
                                            prefixroute_payload* payload, prefixroute_error* error) noexcept {
  return Guarded(error, [&]() -> prefixroute_status {
    PREFIXROUTE_RETURN_IF_BAD(CheckNotNull(error, "reader", reader, "payload", payload));
    PREFIXROUTE_RETURN_IF_BAD(CheckMemory(error, "body", body, body_size));
    PREFIXROUTE_RETURN_IF_BAD(CheckMemory(error, "scope", scope, scope_size));
    PREFIXROUTE_RETURN_IF_BAD(CheckRoom(error, "payload", *payload));
    if (part > PREFIXROUTE_BODY_FIRST) {
      return Invalid(error, absl::StrCat("part is ", part, ", which is none of PREFIXROUTE_BODY_*"));
    }
    WritePayload(ReaderOf(reader).Read(View(body, body_size), static_cast<BodyPart>(part), View(scope, scope_size)),
                 payload);
    return PREFIXROUTE_OK;
  });
}

// The views are of literals, and end with NUL.
const char* prefixroute_payload_form_name(uint32_t form) noexcept {
  if (form > PREFIXROUTE_PAYLOAD_GENERATE) return "";
  return PayloadFormName(static_cast<PayloadForm>(form)).data();
}

}  // extern "C"
