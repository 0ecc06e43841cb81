// SPDX-License-Identifier: Apache-2.0
//
// The key of a request from its JSON body: finds the prompt in the bodies of the usual APIs, puts it into the order in
// which an engine has it, and makes the key of that. In a library of its own, prefixroute::payload.
//
//   PayloadReader reader;                  // One a thread, kept.
//   const Payload& payload = reader.Read(body);
//   request.key = &payload.key;            // Copy it where it must outlive the next Read().
//
// docs/payloads.md says what is read of each form, and gives the bytes that the key is made of.

#ifndef PREFIXROUTE_PAYLOAD_H_
#define PREFIXROUTE_PAYLOAD_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "prefixroute/export.h"
#include "prefixroute/prefix_key.h"

namespace prefixroute {

// What the body looks like. Told by its fields, not by the path that it came to; the key doesn't depend on it, so that
// what is good for two APIs has one key in both.
enum class PayloadForm : uint8_t {
  kRaw,                // None of those below: the key is that of the bytes as they are.
  kChat,               // OpenAI's chat completions and those who follow it: `messages`.
  kAnthropicMessages,  // `messages` with `system` or another field that is Anthropic's alone.
  kCompletion,         // `prompt`: OpenAI's completions, vLLM's own /generate.
  kResponses,          // `input`: OpenAI's responses; embeddings too.
  kInputs,             // `inputs`: TGI, SageMaker.
  kGenerate,           // `text`, `input_ids` or `prompt_token_ids`: SGLang's and vLLM's own.
};

// "raw", "chat", "anthropic_messages", "completion", "responses", "inputs", "generate".
PREFIXROUTE_EXPORT std::string_view PayloadFormName(PayloadForm form);

// What was read of one body. Where the body lacks a field, or has another type there, it is empty; a field that comes
// twice counts as it comes last. All views are valid until the reader's next Read(), and while the body is.
struct Payload {
  PayloadForm form = PayloadForm::kRaw;
  bool stream = false;  // `stream` is true.
  // Of the prompt in the engine's order. Its scope: the caller's, then model, adapter and cache_salt.
  PrefixKey key;
  // The whole prompt's, also beyond max_prefix_bytes, where the body is whole. An image or other medium counts as the
  // few bytes of its digest. Of several prompts in one body: the first one's.
  uint64_t prompt_bytes = 0;
  std::string_view model;
  std::string_view adapter;  // `lora_path`, `adapters`, `parameters.adapter_id`: the first that is there.
  std::string_view cache_salt;
  // `user`, or `metadata.user_id`. This and the next are empty also where they can't be read: of more than 64 KiB with
  // escapes, or with an escape that JSON doesn't know.
  std::string_view user;
  std::string_view prompt_cache_key;
  std::string_view previous_response_id;  // The text that it stands for isn't in the body.
  // Why the form is kRaw, for people and metrics: one of a few fixed texts. Empty for every other form.
  std::string_view fallback;
};

enum class BodyPart : uint8_t {
  kWhole,
  kFirst,  // More is still to arrive.
};

// Reads bodies, one after the other. For one thread at a time. Holds about 20 KiB; a Read() takes time in proportion to
// the body's size, whatever is in it, and allocates nothing, but, once, room for a model name (or another of those
// views) that is written with escapes.
class PREFIXROUTE_EXPORT PayloadReader {
 public:
  // Of the prompt no more than its first `max_prefix_bytes` (at most kMaxMaxPrefixBytes) count for the key; give the
  // router's RouterOptions::key_bytes().
  explicit PayloadReader(uint64_t max_prefix_bytes = kDefaultMaxPrefixBytes);
  PayloadReader(PayloadReader&&) noexcept;
  PayloadReader& operator=(PayloadReader&&) noexcept;
  ~PayloadReader();

  // Never fails: any bytes have a key. What isn't one JSON object of a known form is taken as it is, as MakePrefixKey()
  // takes it, and `fallback` says why. Not every error in the JSON is found: what the engine will refuse may have any
  // key.
  //
  // With kFirst, what is there of the prompt is used: the key is that of the whole prompt, cut short, if the rest of
  // the body brings nothing that comes before it, like `tools`, or belongs to the scope.
  //
  // `scope`: the caller's own, for what isn't in the body, like a tenant.
  const Payload& Read(std::string_view body, BodyPart part = BodyPart::kWhole, std::string_view scope = {});

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace prefixroute

#endif  // PREFIXROUTE_PAYLOAD_H_
