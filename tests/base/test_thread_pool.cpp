// The thread pool: every task once, whoever calls; what a task throws; and a machine that has no more threads to give.
#include "base/thread_pool.h"

#include <QTest>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace millrace;

class TestThreadPool : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void everyTaskOnce_data() {
    QTest::addColumn<int>("threads");
    for (const int threads : {1, 2, 7}) QTest::addRow("%d", threads) << threads;
  }
  void everyTaskOnce() {
    QFETCH(int, threads);
    ThreadPool pool(threads);
    QCOMPARE(pool.threads(), threads);
    std::vector<std::thread> callers;
    std::atomic<int> wrong{0};
    for (int caller = 0; caller < 3; ++caller)
      callers.emplace_back([&] {
        for (const std::int64_t count : {0, 1, 5, 1000}) {
          std::vector<std::atomic<int>> calls(static_cast<std::size_t>(count));
          pool.parallelFor(count, [&](std::int64_t i) { ++calls[static_cast<std::size_t>(i)]; });
          for (const auto& call : calls) wrong += call == 1 ? 0 : 1;
        }
      });
    for (std::thread& caller : callers) caller.join();
    QCOMPARE(wrong.load(), 0);
  }

  void aTaskThatThrows() {
    ThreadPool pool(3);
    std::atomic<int> done{0};
    const auto run = [&] {
      pool.parallelFor(100, [&](std::int64_t i) {
        ++done;
        if (i == 40) throw std::runtime_error("forty");
      });
    };
    QVERIFY_EXCEPTION_THROWN(run(), std::runtime_error);
    QCOMPARE(done.load(), 100);
  }

  /// The threads that did start end, and whoever wanted the pool is told; the process lives on.
  void noMoreThreads() {
    const pid_t child = ::fork();
    if (child == 0) {
      const rlimit little{std::size_t{600} << 20, std::size_t{600} << 20}; // stacks of eight megabytes
      if (::setrlimit(RLIMIT_AS, &little) != 0) ::_exit(3);
      try {
        const ThreadPool pool(1000);
      } catch (const std::system_error& problem) {
        ::_exit(std::string(problem.what()).find("1000 threads cannot be started") == 0 ? 0 : 2);
      }
      ::_exit(1);
    }
    QVERIFY(child > 0);
    int status = -1;
    QCOMPARE(::waitpid(child, &status, 0), child);
    QVERIFY(WIFEXITED(status));
    QCOMPARE(WEXITSTATUS(status), 0);
  }
};

QTEST_GUILESS_MAIN(TestThreadPool)
#include "test_thread_pool.moc"
