// A short run of a fuzz target that needs no fuzzer: all seeds, and seeds that are damaged in the same ways each time.
#include "base/random.h"

#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QtTest>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void run(const QByteArray& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.constData()),
                         static_cast<std::size_t>(input.size()));
}

qsizetype place(millrace::Random& random, qsizetype size) {
  return static_cast<qsizetype>(random.below(static_cast<std::uint64_t>(size) + 1));
}

void damage(QByteArray& input, const QByteArray& other, millrace::Random& random) {
  const qsizetype at = place(random, input.size());
  switch (random.below(5)) {
  case 0:
    input.remove(at, place(random, 20));
    break;
  case 1:
    input.insert(at, other.mid(place(random, other.size()), place(random, 40)));
    break;
  case 2:
    if (at < input.size()) input[at] = static_cast<char>(random.next());
    break;
  case 3:
    if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << random.below(8)));
    break;
  default:
    input.insert(at, input.mid(place(random, input.size()), place(random, 40)));
  }
}

} // namespace

class TestFuzz : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void seedsAndDamagedOnes() {
    const QDir folder(QStringLiteral(MILLRACE_FUZZ_SEEDS));
    QList<QByteArray> seeds;
    for (const QString& name : folder.entryList(QDir::Files, QDir::Name)) {
      QFile file(folder.filePath(name));
      QVERIFY(file.open(QIODevice::ReadOnly));
      seeds << file.readAll();
      run(seeds.back());
    }
    QVERIFY(seeds.size() >= 5);
    millrace::Random random(3, "fuzz");
    QElapsedTimer timer;
    timer.start();
    // So many rounds, or fewer where a sanitizer makes each of them slow.
    for (int round = 0; round < 6000 && timer.elapsed() < 20'000; ++round) {
      QByteArray input = seeds[static_cast<qsizetype>(random.below(static_cast<std::uint64_t>(seeds.size())))];
      const QByteArray& other = seeds[static_cast<qsizetype>(random.below(static_cast<std::uint64_t>(seeds.size())))];
      for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes) damage(input, other, random);
      run(input);
    }
  }
};

QTEST_GUILESS_MAIN(TestFuzz)
#include "test_fuzz.moc"
