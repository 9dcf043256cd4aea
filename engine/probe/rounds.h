// How often a probe repeats what it times, by a clock that tests can replace. Plain values; one thread.
#pragma once

#include <functional>
#include <vector>

namespace millrace {

/// Seconds since some fixed moment; never goes back. Callable from any thread.
using ProbeClock = std::function<double()>;
ProbeClock steadyProbeClock();

/// At least so many rounds, then more while they are within the time, up to the most.
struct Rounds {
  int least = 1;
  int most = 1;
  double seconds = 0;

  Rounds(int count) : least(count), most(count) {} // a number is rounds, too
  Rounds(int fewest, int greatest, double within) : least(fewest), most(greatest), seconds(within) {}
};

/// Counts rounds: `while (loop.next())`. The first is a warm-up, whose time counts for nothing.
class RoundLoop {
 public:
  RoundLoop(const Rounds& rounds, ProbeClock clock) : m_rounds(rounds), m_clock(std::move(clock)) {}

  bool next();
  bool warmUp() const { return m_done < 0; }
  double now() const { return m_clock(); }

  template <class Work>
  double secondsOf(Work&& work) const {
    const double begin = m_clock();
    work();
    return m_clock() - begin;
  }

 private:
  Rounds m_rounds;
  ProbeClock m_clock;
  int m_done = -2; ///< before the warm-up
  double m_began = 0;
};

double median(std::vector<double> values);

} // namespace millrace
