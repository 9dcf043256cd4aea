// Conversions between stored types and fp32, over every pattern of the small types.
#include "base/bf16.h"
#include "storage/float_conversion.h"

#include <QtTest>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

using namespace millrace;

class TestFloatConversion : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void everyHalf() {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      const float value = halfToFloat(static_cast<std::uint16_t>(bits));
      const int exponent = static_cast<int>((bits >> 10) & 31);
      const double fraction = bits & 1023;
      QCOMPARE(std::signbit(value), (bits & 0x8000) != 0);
      if (exponent == 31) {
        QVERIFY(fraction == 0 ? std::isinf(value) : std::isnan(value));
        continue;
      }
      const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
      QCOMPARE(static_cast<double>(std::fabs(value)), magnitude);
    }
  }

  void everyHalfAgain() {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
      const float value = halfToFloat(static_cast<std::uint16_t>(bits));
      const std::uint16_t again = floatToHalf(value);
      if (std::isnan(value))
        QVERIFY(std::isnan(halfToFloat(again)));
      else
        QCOMPARE(again, static_cast<std::uint16_t>(bits));
    }
  }

  /// Between every two halves that follow each other: what is nearer, and the even one from the middle.
  void halvesRoundToNearestEven() {
    for (std::uint32_t bits = 0; bits < 0x7C00; ++bits) {
      const double low = static_cast<double>(halfToFloat(static_cast<std::uint16_t>(bits)));
      // Above the largest half the next would be 65536.
      const double high =
          bits == 0x7BFF ? 65536.0 : static_cast<double>(halfToFloat(static_cast<std::uint16_t>(bits + 1)));
      const auto middle = static_cast<float>((low + high) / 2); // exact
      const std::uint32_t even = bits % 2 == 0 ? bits : bits + 1;
      for (const bool negative : {false, true}) {
        const float sign = negative ? -1.0f : 1.0f;
        const std::uint32_t signBit = negative ? 0x8000u : 0u;
        QCOMPARE(static_cast<std::uint32_t>(floatToHalf(sign * middle)), signBit | even);
        QCOMPARE(static_cast<std::uint32_t>(floatToHalf(sign * std::nextafter(middle, 0.0f))), signBit | bits);
        QCOMPARE(static_cast<std::uint32_t>(floatToHalf(sign * std::nextafter(middle, HUGE_VALF))),
                 signBit | (bits + 1));
      }
    }
    QCOMPARE(floatToHalf(3e38f), std::uint16_t{0x7C00});
    QCOMPARE(floatToHalf(-HUGE_VALF), std::uint16_t{0xFC00});
    QCOMPARE(floatToHalf(-0.0f), std::uint16_t{0x8000});
    QCOMPARE(floatToHalf(1e-30f), std::uint16_t{0});
  }

  void everyBFloat16() {
    std::vector<std::uint16_t> stored(65536);
    for (std::size_t i = 0; i < stored.size(); ++i) stored[i] = static_cast<std::uint16_t>(i);
    std::vector<float> values(stored.size());
    widenToFloats(StoredType::BF16, std::as_bytes(std::span(stored)), values);
    for (std::size_t i = 0; i < values.size(); ++i)
      QCOMPARE(std::bit_cast<std::uint32_t>(values[i]), static_cast<std::uint32_t>(i) << 16);
    std::vector<std::uint16_t> again(stored.size());
    narrowFromFloats(StoredType::BF16, values, std::as_writable_bytes(std::span(again)));
    for (std::size_t i = 0; i < again.size(); ++i) {
      if (std::isnan(values[i]))
        QVERIFY(std::isnan(toFloat(BFloat16{again[i]})));
      else
        QCOMPARE(again[i], stored[i]);
    }
  }

  void narrowingRoundsToNearestEven_data() {
    QTest::addColumn<quint32>("from");
    QTest::addColumn<quint16>("to");
    QTest::newRow("below half") << quint32{0x3F807FFF} << quint16{0x3F80};
    QTest::newRow("half, even") << quint32{0x3F808000} << quint16{0x3F80};
    QTest::newRow("half, odd") << quint32{0x3F818000} << quint16{0x3F82};
    QTest::newRow("above half") << quint32{0x3F808001} << quint16{0x3F81};
    QTest::newRow("largest to infinity") << quint32{0x7F7FFFFF} << quint16{0x7F80};
    QTest::newRow("denormal") << quint32{0x00008001} << quint16{0x0001};
    QTest::newRow("negative zero") << quint32{0x80000000} << quint16{0x8000};
  }
  void narrowingRoundsToNearestEven() {
    QFETCH(quint32, from);
    QFETCH(quint16, to);
    const float value = std::bit_cast<float>(from);
    std::uint16_t stored = 0;
    narrowFromFloats(StoredType::BF16, std::span(&value, 1), std::as_writable_bytes(std::span(&stored, 1)));
    QCOMPARE(stored, static_cast<std::uint16_t>(to));
  }

  void doublesRoundAndMayLieUnaligned() {
    const std::vector<double> source{
        0.1, -1e300, 1e-46, 1.0 + 0x1p-24, 1.0 + 3 * 0x1p-24, std::numeric_limits<double>::quiet_NaN()};
    std::vector<std::byte> bytes(source.size() * 8 + 1);
    std::memcpy(bytes.data() + 1, source.data(), source.size() * 8);
    std::vector<float> values(source.size());
    widenToFloats(StoredType::F64, std::span(bytes).subspan(1), values);
    QCOMPARE(values[0], 0.1f);
    QVERIFY(std::isinf(values[1]) && values[1] < 0);
    QCOMPARE(values[2], 0.0f);
    QCOMPARE(values[3], 1.0f);
    QCOMPARE(values[4], 1.0f + 0x1p-22f);
    QVERIFY(std::isnan(values[5]));
  }
};

QTEST_GUILESS_MAIN(TestFloatConversion)
#include "test_float_conversion.moc"
