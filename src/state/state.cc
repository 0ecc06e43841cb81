// SPDX-License-Identifier: Apache-2.0

#include "src/state/state.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "prefixroute/rendezvous.h"

namespace prefixroute::internal {
namespace {

constexpr uint64_t kHeapToken = 1;
constexpr uint64_t kUnknownWork = 1024;  // Bytes.
// Another process changes membership in microseconds, milliseconds for the greatest fleets. One that is still at it
// after so many turns, two seconds, has ended. Sleeps, for yields alone would take many times that on a busy machine.
constexpr int kGuardYields = 1'000;
constexpr int kGuardSleeps = 2'000;
constexpr std::chrono::milliseconds kGuardSleep(1);

uint64_t NewIdentity() {
  uint64_t identity;
  if (getentropy(&identity, sizeof(identity)) == 0) return identity;
  return MixBits(reinterpret_cast<uintptr_t>(&identity)) ^ MixBits(static_cast<uint64_t>(getpid()));
}

absl::Status CheckMemory(const void* memory) {
  if (memory == nullptr) return absl::InvalidArgumentError("memory is null");
  if (reinterpret_cast<uintptr_t>(memory) % kBlockAlignment != 0) {
    return absl::InvalidArgumentError(absl::StrCat("memory is at 0x", absl::Hex(reinterpret_cast<uintptr_t>(memory)),
                                                   ", not aligned to ", kBlockAlignment, " bytes"));
  }
  return absl::OkStatus();
}

absl::Status TooSmall(size_t bytes, size_t needed) {
  return absl::InvalidArgumentError(absl::StrCat("bytes is ", bytes, ", but the block needs ", needed));
}

}  // namespace

void State::HeapDelete::operator()(unsigned char* memory) const { std::free(memory); }

absl::Status State::CheckShape(const SharedStateShape& shape) {
  if (shape.max_instances < 1 || shape.max_instances > kMaxInstances) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_instances is ", shape.max_instances, ", not within 1 to ", kMaxInstances));
  }
  if (shape.max_owners < 2 || shape.max_owners > Count::kMaxOwners) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_owners is ", shape.max_owners, ", not within 2 to ", Count::kMaxOwners));
  }
  return CheckPrefixEntries(shape.prefix_entries);
}

absl::Status State::CheckPrefixEntries(uint32_t prefix_entries) {
  if (prefix_entries < kMinPrefixEntries || prefix_entries > kMaxPrefixEntries ||
      (prefix_entries & (prefix_entries - 1)) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("prefix_entries is ", prefix_entries, ", not a power of two within ",
                                                   kMinPrefixEntries, " to ", kMaxPrefixEntries));
  }
  return absl::OkStatus();
}

// All zeros is an empty block: nothing else is written but the header, its magic last.
void State::Build(void* memory, const SharedStateShape& shape) {
  const Layout layout(shape);
  auto* header = new (memory) BlockHeader{};
  header->layout_version = kLayoutVersion;
  header->max_instances = shape.max_instances;
  header->max_owners = shape.max_owners;
  header->prefix_entries = shape.prefix_entries;
  header->bytes = layout.bytes;
  header->identity = NewIdentity();
  header->magic.store(kBlockMagic);
}

std::unique_ptr<State> State::OnHeap(uint32_t max_instances, uint32_t prefix_entries) {
  const SharedStateShape shape{max_instances, 1, prefix_entries};
  // The system's pages are zeros already: those of the memory of prefixes come into being as they are written.
  const size_t bytes = Layout(shape).bytes + kBlockAlignment;
  std::unique_ptr<unsigned char, HeapDelete> memory(static_cast<unsigned char*>(std::calloc(bytes, 1)));
  while (memory == nullptr) {
    // Only operator new knows what to do when memory runs out: call a handler, or throw.
    ::operator delete(::operator new(bytes));
    memory.reset(static_cast<unsigned char*>(std::calloc(bytes, 1)));
  }
  void* block = memory.get() + (kBlockAlignment - reinterpret_cast<uintptr_t>(memory.get()) % kBlockAlignment);
  Build(block, shape);
  std::unique_ptr<State> state(new State(static_cast<unsigned char*>(block), kHeapToken));
  state->heap_ = std::move(memory);
  state->OwnerToken(state->column_).store(kHeapToken);
  return state;
}

absl::Status State::Format(void* memory, size_t bytes, const SharedStateShape& shape) {
  absl::Status status = CheckShape(shape);
  if (status.ok()) status = CheckMemory(memory);
  if (!status.ok()) return status;
  if (const size_t needed = Layout(shape).bytes; bytes < needed) return TooSmall(bytes, needed);
  if (static_cast<const BlockHeader*>(memory)->magic.load() == kBlockMagic) {
    return absl::FailedPreconditionError("memory holds a block already: attach to it, or clear it if nobody uses it");
  }
  std::memset(memory, 0, Layout(shape).bytes);
  Build(memory, shape);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<State>> State::Attach(void* memory, size_t bytes, uint64_t token) {
  if (absl::Status status = CheckMemory(memory); !status.ok()) return status;
  if (token == 0) return absl::InvalidArgumentError("token is 0");
  if (bytes < sizeof(BlockHeader)) return TooSmall(bytes, sizeof(BlockHeader));
  const BlockHeader& header = *static_cast<const BlockHeader*>(memory);
  if (header.magic.load() != kBlockMagic) {
    return absl::InvalidArgumentError("memory holds no block: it was not formatted");
  }
  if (header.layout_version != kLayoutVersion) {
    return absl::FailedPreconditionError(absl::StrCat("the block's layout version is ", header.layout_version,
                                                      ", but this library's is ", kLayoutVersion));
  }
  const SharedStateShape shape{header.max_instances, header.max_owners, header.prefix_entries};
  if (!CheckShape(shape).ok() || header.bytes != Layout(shape).bytes) {
    return absl::InvalidArgumentError("memory holds no block: its header contradicts itself");
  }
  if (bytes < header.bytes) return TooSmall(bytes, header.bytes);

  std::unique_ptr<State> state(new State(static_cast<unsigned char*>(memory), token));
  state->column_ = state->owners_;  // None yet.
  if (state->IsAttached(token)) return absl::AlreadyExistsError(absl::StrCat("token ", token, " is attached"));
  for (state->column_ = 0; state->column_ < state->owners_; ++state->column_) {
    uint64_t nobody = 0;
    if (!state->OwnerToken(state->column_).compare_exchange_strong(nobody, token)) continue;
    // Another may have attached the same token meanwhile: at least one of the two sees the other here.
    if (state->IsAttached(token)) return absl::AlreadyExistsError(absl::StrCat("token ", token, " is attached"));
    return state;
  }
  return absl::ResourceExhaustedError(absl::StrCat("all ", state->owners_, " owners are attached (max_owners)"));
}

State::State(unsigned char* memory, uint64_t token)
    : base_(memory),
      layout_({reinterpret_cast<const BlockHeader*>(memory)->max_instances,
               reinterpret_cast<const BlockHeader*>(memory)->max_owners,
               reinterpret_cast<const BlockHeader*>(memory)->prefix_entries}),
      owners_(reinterpret_cast<const BlockHeader*>(memory)->max_owners),
      token_(token),
      identity_(reinterpret_cast<const BlockHeader*>(memory)->identity),
      process_(getpid()) {}

State::~State() {
  // A forked child's copy owns nothing: the column is its parent's.
  if (heap_ != nullptr || column_ == owners_ || !OwnsColumn() || process_ != getpid()) return;
  FreeColumn(column_);
}

std::string_view State::id(uint32_t slot) const {
  const IdRecord& record = IdOf(slot);
  return std::string_view(record.bytes, record.length);
}

absl::Status State::Join(absl::Span<const std::string_view> ids, absl::Span<uint32_t> slots) {
  if (ids.empty()) return absl::OkStatus();
  if (absl::Status status = EnterGuard(0); !status.ok()) return status;
  const GuardLeaver leaver(*this);

  std::unordered_map<std::string_view, uint32_t> joined;
  std::vector<uint32_t> free_slots;
  std::vector<uint8_t> found(ids.size(), 0);
  for (uint32_t slot = 0; slot < layout_.slot_count; ++slot) {
    if (HasMember(slot)) {
      joined.emplace(id(slot), slot);
    } else if (Outstanding(slot) == 0 && free_slots.size() < ids.size()) {
      free_slots.push_back(slot);
    }
  }
  size_t taken = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (const auto present = joined.find(ids[i]); present != joined.end()) {
      slots[i] = present->second;
      found[i] = 1;
    } else if (taken < free_slots.size()) {
      slots[i] = free_slots[taken++];
    } else {
      return absl::ResourceExhaustedError(
          absl::StrCat("no room for the new instances: removed ones with open leases, or other owners' instances, hold "
                       "the rest of the ",
                       layout_.slot_count, " slots"));
    }
  }
  // Written in this order, a slot whose owner dies halfway is just free.
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!found[i]) {
      IdRecord& record = IdOf(slots[i]);
      record.length = static_cast<uint8_t>(ids[i].size());
      std::memcpy(record.bytes, ids[i].data(), ids[i].size());
      ResetHead(slots[i]);
    }
    CountOf(slots[i]).SetMember(column_, true);
  }
  return absl::OkStatus();
}

void State::ReportLoad(uint32_t slot, const EngineLoad& load) {
  SlotHead& head = HeadOf(slot);
  const uint32_t own = Outstanding(slot);
  head.others.store(load.outstanding > own ? load.outstanding - own : 0, std::memory_order_relaxed);
  // Who has served nobody yet has no mean.
  const uint64_t mean = std::max(MeanWork(slot), kUnknownWork);
  const uint64_t waiting_bytes = uint64_t{std::min(load.waiting, load.outstanding)} * mean;
  const uint64_t own_pending = Pending(slot);
  head.others_pending.store(waiting_bytes > own_pending ? waiting_bytes - own_pending : 0, std::memory_order_relaxed);
}

void State::ReportCache(uint32_t slot, uint64_t prompt_tokens, uint64_t cached_tokens, uint64_t expected_tokens) {
  if (!OwnsColumn()) return;
  SlotRecord& report = RecordOf(slot);
  report.prompt.fetch_add(prompt_tokens, std::memory_order_relaxed);
  report.cached.fetch_add(cached_tokens, std::memory_order_relaxed);
  report.expected.fetch_add(expected_tokens, std::memory_order_relaxed);
}

// Of a slot that has nothing outstanding, for a new instance.
void State::ResetHead(uint32_t slot) {
  SlotHead& head = HeadOf(slot);
  head.pending.store(0);
  head.others_pending.store(0);
  head.others.store(0);
  head.work.store(0);
  ForgetCache(slot);
  SlotRecord& record = RecordOf(slot);
  record.work.store(0);
  record.incarnation.fetch_add(1);
  record.prompt.store(0);
  record.cached.store(0);
  record.expected.store(0);
  for (uint32_t column = 0; column < owners_; ++column) PendingOf(slot, column).store(0);
}

void State::Leave(absl::Span<const uint32_t> slots) {
  for (uint32_t slot : slots) CountOf(slot).SetMember(column_, false);
}

// Under another column than this one's.
bool State::IsAttached(uint64_t token) const {
  for (uint32_t column = 0; column < owners_; ++column) {
    if (column != column_ && OwnerToken(column).load() == token) return true;
  }
  return false;
}

bool State::HasMember(uint32_t slot) const {
  const Count count = CountOf(slot);
  for (uint32_t column = 0; column < owners_; ++column) {
    if (count.member(column)) return true;
  }
  return false;
}

uint64_t State::TotalOutstanding() const {
  uint64_t outstanding = 0;
  for (uint32_t slot = 0; slot < layout_.slot_count; ++slot) outstanding += Outstanding(slot);
  return outstanding;
}

uint64_t State::PartOf(uint32_t column) const {
  uint64_t outstanding = 0;
  for (uint32_t slot = 0; slot < layout_.slot_count; ++slot) outstanding += CountOf(slot).part(column);
  return outstanding;
}

void State::ReleaseAll() {
  if (!OwnsColumn() || process_ != getpid()) return;
  for (uint32_t slot = 0; slot < layout_.slot_count; ++slot) {
    while (ReleaseIfAny(slot, column_)) {
    }
  }
}

void State::FreeColumn(uint32_t column) {
  for (uint32_t slot = 0; slot < layout_.slot_count; ++slot) {
    Count count = CountOf(slot);
    HeadOf(slot).pending.fetch_sub(PendingOf(slot, column).exchange(0));
    count.ReleaseAll(column);
    count.SetMember(column, false);
  }
  OwnerToken(column).store(0);
}

std::vector<SharedState::Owner> State::Owners() const {
  std::vector<SharedState::Owner> owners;
  for (uint32_t column = 0; column < owners_; ++column) {
    if (const uint64_t token = OwnerToken(column).load(); token != 0) owners.push_back({token, PartOf(column)});
  }
  return owners;
}

absl::Status State::Reap(uint64_t token) {
  if (token == this->token()) return absl::InvalidArgumentError(absl::StrCat("token ", token, " is this router's own"));
  if (token == 0) return absl::InvalidArgumentError("token is 0");
  if (absl::Status status = EnterGuard(token); !status.ok()) return status;
  const GuardLeaver leaver(*this);
  for (uint32_t column = 0; column < owners_; ++column) {
    if (OwnerToken(column).load() == token) {
      FreeColumn(column);
      return absl::OkStatus();
    }
  }
  return absl::NotFoundError(absl::StrCat("token ", token, " is not attached"));
}

// The guard is a lock among processes, for membership alone. Who waits for a dead holder gives up, and the reaper of
// the holder takes it over: each step under it leaves the block whole.
absl::Status State::EnterGuard(uint64_t may_take_from) {
  const uint64_t own = token();
  uint64_t holder = 0;
  for (int turn = 0; turn < kGuardYields + kGuardSleeps; ++turn) {
    holder = 0;
    if (header().membership_guard.compare_exchange_strong(holder, own)) return absl::OkStatus();
    if (holder == may_take_from && header().membership_guard.compare_exchange_strong(holder, own)) {
      return absl::OkStatus();
    }
    if (turn < kGuardYields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kGuardSleep);
    }
  }
  return absl::UnavailableError(absl::StrCat("the router of token ", holder,
                                             " is changing membership, and doesn't end: reap it if its process has"));
}

void State::LeaveGuard() { header().membership_guard.store(0); }

}  // namespace prefixroute::internal
