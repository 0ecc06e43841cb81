// SPDX-License-Identifier: Apache-2.0
//
// Threads that work at the same time, each on a processor of its own.

#ifndef PREFIXROUTE_BENCHMARKS_MICRO_TEAM_H_
#define PREFIXROUTE_BENCHMARKS_MICRO_TEAM_H_

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace prefixroute {

// Keeps the calling thread, while it lives, on one of the processors that the program may run on: the one of that
// number, from 0, as far as there are so many.
class OnProcessor {
 public:
  explicit OnProcessor(size_t number) {
    size_t left = number % static_cast<size_t>(CPU_COUNT(&All()));
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, &All()) || left-- > 0) ++cpu;
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(cpu, &own);
    sched_setaffinity(0, sizeof(own), &own);
  }
  ~OnProcessor() { sched_setaffinity(0, sizeof(All()), &All()); }
  OnProcessor(const OnProcessor&) = delete;
  OnProcessor& operator=(const OnProcessor&) = delete;

 private:
  // Asked once, by a thread that is on none yet: threads inherit.
  static const cpu_set_t& All() {
    static const cpu_set_t all = [] {
      cpu_set_t set;
      sched_getaffinity(0, sizeof(set), &set);
      return set;
    }();
    return all;
  }
};

// The calling thread, as number 0, and others, which sleep between two works.
class Team {
 public:
  explicit Team(size_t size) : processor_(0), spans_(size) {
    for (size_t number = 1; number < size; ++number) {
      others_.emplace_back([this, number] { Serve(number); });
    }
  }
  ~Team() {
    Announce(nullptr);
    for (std::thread& other : others_) other.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  using Work = std::function<void(size_t)>;

  // Every thread calls work(its number), beginning at the same time.
  void Run(const Work& work) {
    ready_ = 0;
    done_ = 0;
    go_ = false;
    Announce(&work);
    SpinUntil([&] { return ready_ == others_.size(); });
    go_ = true;
    Time(0, work);
    SpinUntil([&] { return done_ == others_.size(); });
  }

  // The part of the last work's time during which all threads were at it. Little where one had to wait for its
  // processor: then what they do to each other doesn't show.
  double Overlap() const {
    Span inner = spans_[0];
    Span outer = spans_[0];
    for (const Span& span : spans_) {
      inner = {std::max(inner.begin, span.begin), std::min(inner.end, span.end)};
      outer = {std::min(outer.begin, span.begin), std::max(outer.end, span.end)};
    }
    return std::max(0.0, Seconds(inner.begin, inner.end) / Seconds(outer.begin, outer.end));
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct alignas(64) Span {
    Clock::time_point begin;
    Clock::time_point end;
  };

  static double Seconds(Clock::time_point begin, Clock::time_point end) {
    return std::chrono::duration<double>(end - begin).count();
  }

  // Without giving the processor up, but where nothing happens for long.
  template <typename Condition>
  static void SpinUntil(Condition condition) {
    for (int spins = 0; !condition(); ++spins) {
      if (spins > 10'000) std::this_thread::yield();
    }
  }

  void Announce(const Work* work) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      work_ = work;
      ++announced_;
    }
    condition_.notify_all();
  }

  void Serve(size_t number) {
    const OnProcessor processor(number);
    for (uint64_t served = 0;; ++served) {
      const Work* work;
      {
        std::unique_lock<std::mutex> lock(mutex_);
        condition_.wait(lock, [&] { return announced_ > served; });
        work = work_;
      }
      if (work == nullptr) return;
      ++ready_;
      SpinUntil([&] { return go_.load(); });
      Time(number, *work);
      ++done_;
    }
  }

  void Time(size_t number, const Work& work) {
    spans_[number].begin = Clock::now();
    work(number);
    spans_[number].end = Clock::now();
  }

  OnProcessor processor_;
  std::vector<Span> spans_;
  std::vector<std::thread> others_;
  std::mutex mutex_;
  std::condition_variable condition_;
  const Work* work_ = nullptr;
  uint64_t announced_ = 0;
  std::atomic<size_t> ready_{0};
  std::atomic<size_t> done_{0};
  std::atomic<bool> go_{false};
};

}  // namespace prefixroute

#endif  // PREFIXROUTE_BENCHMARKS_MICRO_TEAM_H_
