// Numbers come back from the codec bit by bit, whatever they are and however their width is read; damage is found or
// harmless.
#include "base/random.h"
#include "storage/granule_codec.h"

#include <QTest>
#include <cstring>

using namespace millrace;

namespace {

using Contents = std::vector<std::byte>;

/// Normal numbers of many blocks' scales, in their first bytes: 4 of fp32, 2 of bf16.
Contents numbers(std::size_t bytes, int width, std::uint64_t seed) {
  Random random(seed, "numbers");
  Contents contents(bytes);
  for (std::size_t at = 0; at < bytes; at += static_cast<std::size_t>(width)) {
    const auto value = static_cast<float>(random.normal() * 0.02);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    if (width == 2) bits >>= 16;
    std::memcpy(contents.data() + at, &bits, std::min(bytes - at, static_cast<std::size_t>(width)));
  }
  return contents;
}

Contents noise(std::size_t bytes, std::uint64_t seed) {
  Random random(seed, "noise");
  Contents contents(bytes);
  for (std::byte& byte : contents) byte = static_cast<std::byte>(random.below(256));
  return contents;
}

} // namespace

class TestGranuleCodec : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void whatIsCompressedComesBack_data() {
    QTest::addColumn<int>("width");
    QTest::addColumn<int>("bytes");
    for (const int width : {1, 2, 4})
      for (const int bytes : {4097, 8192, 100'003, 1 << 20})
        QTest::addRow("width %d, %d bytes", width, bytes) << width << bytes;
  }
  void whatIsCompressedComesBack() {
    QFETCH(const int, width);
    QFETCH(const int, bytes);
    const Contents original = numbers(static_cast<std::size_t>(bytes), std::max(width, 2), 1);
    Contents contents = original;
    const Bytes stored = m_codec.compress(contents, width, bytes - 1);
    QVERIFY(stored > 0 && stored < bytes);
    std::fill(contents.begin() + stored, contents.end(), std::byte{0xAA}); // it is not needed
    QVERIFY(m_codec.expand(contents, width, stored));
    QVERIFY(contents == original);
  }

  /// As published: bf16 weights by more than a quarter, fp32 numbers by more than a tenth.
  void exponentsAreFound() {
    const auto ratio = [this](int width) {
      Contents contents = numbers(1 << 20, width, 2);
      return static_cast<double>(contents.size()) / static_cast<double>(m_codec.compress(contents, width, 1 << 20));
    };
    QVERIFY2(ratio(2) > 1.28, qPrintable(QString::number(ratio(2))));
    QVERIFY2(ratio(4) > 1.1, qPrintable(QString::number(ratio(4))));
  }

  void whatIsNotSmallerStaysAsItIs() {
    for (const int width : {1, 2, 4}) {
      const Contents original = noise(70'001, 3);
      Contents contents = original;
      QCOMPARE(m_codec.compress(contents, width, 70'000), Bytes{0});
      QVERIFY(contents == original);
    }
    const Contents original = numbers(1 << 16, 2, 4);
    for (const Bytes most : {0, 1, 1000, 30'000}) { // it takes more than that
      Contents contents = original;
      QCOMPARE(m_codec.compress(contents, 2, most), Bytes{0});
      QVERIFY(contents == original);
    }
  }

  void damageIsFoundOrHarmless() {
    constexpr std::size_t bytes = 50'000, guard = 4096;
    const Contents original = numbers(bytes, 2, 5);
    Random random(6, "damage");
    for (int run = 0; run < 500; ++run) {
      Contents memory(bytes + guard, std::byte{0x5A});
      std::copy(original.begin(), original.end(), memory.begin());
      const std::span<std::byte> contents(memory.data(), bytes);
      Bytes stored = m_codec.compress(contents, 2, bytes - 1);
      QVERIFY(stored > 0);
      switch (run % 4) {
      case 0: // a bit
        memory[random.below(static_cast<std::uint64_t>(stored))] ^= std::byte{1} << random.below(8);
        break;
      case 1: // the end is missing
        stored = static_cast<Bytes>(random.below(static_cast<std::uint64_t>(stored)));
        break;
      case 2: // something else begins there
        for (std::size_t i = 0; i < 64; ++i) memory[i] = static_cast<std::byte>(random.below(256));
        break;
      case 3: // all of it is something else
        std::copy(original.begin(), original.end(), memory.begin());
        break;
      }
      (void)m_codec.expand(contents, 2, stored);
      for (std::size_t i = bytes; i < memory.size(); ++i) QCOMPARE(memory[i], std::byte{0x5A});
    }
    // And it goes on working.
    Contents contents = original;
    const Bytes stored = m_codec.compress(contents, 2, bytes - 1);
    QVERIFY(m_codec.expand(contents, 2, stored) && contents == original);
  }

 private:
  GranuleCodec m_codec;
};

QTEST_APPLESS_MAIN(TestGranuleCodec)
#include "test_granule_codec.moc"
