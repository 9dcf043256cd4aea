// Headers of safetensors files that must be refused, each with a part of the message that says why.
#pragma once

#include <QByteArray>
#include <vector>

namespace millrace::test {

struct HostileHeader {
  const char* name = "";
  QByteArray json;
  int contents = 0; ///< bytes that follow
  const char* part = "";
};

inline std::vector<HostileHeader> hostileHeaders() {
  std::vector<HostileHeader> headers;
  const auto row = [&](const char* name, const QByteArray& header, int contents, const char* part) {
    headers.push_back({name, header, contents, part});
  };
  const auto tensor = [](const char* dtype, const char* shape, const char* offsets) {
    return QByteArray(R"({"t":{"dtype":)") + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
  };
  row("a list", "[]", 0, "brace");
  row("space first", " {}", 0, "brace");
  row("something after the object", "{}{}", 0, "not valid JSON");
  row("a number for a tensor", R"({"t":3})", 0, "expected an object");
  row("null for a tensor", R"({"t":null})", 0, "has null as 't'");
  row("nested object", R"({"t":{"dtype":{}}})", 0, "dtype of tensor 't'");
  row("unknown key", R"({"t":{"dtype":"F32","shape":[],"data_offsets":[0,4],"extra":1}})", 4, "unknown key 'extra'");
  row("dtype missing", R"({"t":{"shape":[1],"data_offsets":[0,4]}})", 4, "lacks");
  row("shape missing", R"({"t":{"dtype":"F32","data_offsets":[0,4]}})", 4, "lacks");
  row("offsets missing", R"({"t":{"dtype":"F32","shape":[1]}})", 4, "lacks");
  row("empty tensor object", R"({"t":{}})", 0, "lacks");
  row("a key twice in a tensor", R"({"t":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4,
      "dtype twice");
  row("a tensor twice",
      R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"t":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
      8, "'t' twice");
  row("metadata twice", R"({"__metadata__":{},"__metadata__":{}})", 0, "twice");
  row("metadata key twice", R"({"__metadata__":{"a":"b","a":"c"}})", 0, "'a' twice");
  row("metadata number", R"({"__metadata__":{"a":1}})", 0, "expected a text");
  row("metadata nested", R"({"__metadata__":{"a":{}}})", 0, "expected a text");
  row("metadata text", R"({"__metadata__":"pt"})", 0, "expected an object");
  row("empty name", R"({"":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4, "tensor name");
  row("control character", R"({"a\u0000b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4, "tensor name");
  row("long name", "{\"" + QByteArray(2000, 'n') + R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4,
      "2000 bytes long");
  row("not UTF-8", "{\"\xff\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "not valid JSON at byte");
  row("half a surrogate", R"({"\ud800":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4, "not valid JSON");
  row("unknown dtype", tensor(R"("F8_E4M3")", "[4]", "[0,4]"), 4, "dtype 'F8_E4M3', which is not supported");
  row("lower-case dtype", tensor(R"("f32")", "[1]", "[0,4]"), 4, "dtype 'f32'");
  row("dtype number", tensor("32", "[1]", "[0,4]"), 4, "dtype of tensor 't'");
  row("dtype list", tensor("[]", "[1]", "[0,4]"), 4, "dtype of tensor 't'");
  row("shape number", tensor(R"("F32")", "1", "[0,4]"), 4, "shape of tensor 't'");
  row("negative dimension", tensor(R"("F32")", "[-1]", "[0,4]"), 4, "-1 in shape");
  row("negative pair of dimensions", tensor(R"("F32")", "[-1,-1]", "[0,4]"), 4, "-1 in shape");
  row("fractional dimension", tensor(R"("F32")", "[1.0]", "[0,4]"), 4, "1.0 in shape");
  row("text dimension", tensor(R"("F32")", R"(["1"])", "[0,4]"), 4, "a text in shape");
  row("nested shape", tensor(R"("F32")", "[[1]]", "[0,4]"), 4, "a list in shape");
  row("huge dimension", tensor(R"("F32")", "[18446744073709551615]", "[0,4]"), 4, "18446744073709551615 in shape");
  row("more than 64 bits", tensor(R"("F32")", "[99999999999999999999999]", "[0,4]"), 4, "in shape");
  row("product overflows to the size", tensor(R"("F32")", "[4611686018427387905]", "[0,4]"), 4, "too many");
  row("product overflows to zero", tensor(R"("F32")", "[4294967296,4294967296]", "[0,0]"), 0, "too many");
  row("many dimensions", tensor(R"("F32")", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, "more than 8 dimensions");
  row("one offset", tensor(R"("F32")", "[1]", "[0]"), 4, "1 data_offsets");
  row("three offsets", tensor(R"("F32")", "[1]", "[0,4,8]"), 8, "more than 2");
  row("no offsets", tensor(R"("F32")", "[1]", "[]"), 4, "0 data_offsets");
  row("null offsets", tensor(R"("F32")", "[1]", "null"), 4, "null in data_offsets");
  row("negative offset", tensor(R"("F32")", "[1]", "[-4,0]"), 4, "-4 in data_offsets");
  row("backward offsets", tensor(R"("F32")", "[1]", "[4,0]"), 4, "before the beginning");
  row("size too small", tensor(R"("F32")", "[2]", "[0,4]"), 4, "has 4 bytes by its data_offsets, expected 8");
  row("size too large", tensor(R"("F32")", "[1]", "[0,8]"), 8, "expected 4");
  row("size of another type", tensor(R"("F16")", "[1]", "[0,4]"), 4, "expected 2 for F16 (1)");
  row("beyond the file", tensor(R"("F32")", "[2]", "[0,8]"), 4, "truncated");
  row("far beyond the file", tensor(R"("U8")", "[9223372036854775807]", "[0,9223372036854775807]"), 4, "truncated");
  row("hole at the beginning", tensor(R"("F32")", "[1]", "[4,8]"), 8, "bytes 0 to 4");
  row("rest at the end", tensor(R"("F32")", "[1]", "[0,4]"), 8, "4 bytes follow");
  row("contents without tensors", "{}", 1, "1 bytes follow");
  const auto two = [](const char* second, const char* third) {
    return QByteArray(R"({"x":{"dtype":"U8","shape":[4],"data_offsets":)") + second +
           R"(},"y":{"dtype":"U8","shape":[4],"data_offsets":)" + third + "}}";
  };
  row("overlap", two("[0,4]", "[2,6]"), 6, "overlaps 'x'");
  row("the same place", two("[0,4]", "[0,4]"), 4, "overlaps");
  row("hole between", two("[0,4]", "[5,9]"), 9, "bytes 4 to 5");
  row("hole between, other order", two("[5,9]", "[0,4]"), 9, "bytes 4 to 5");
  row("empty tensor inside another",
      R"({"x":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"e":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}})", 4,
      "overlaps");
  row("deep nesting", QByteArray(100000, '['), 0, "brace");
  row("deep nesting inside", R"({"t":{"shape":)" + QByteArray(100000, '['), 0, "a list in shape");
  return headers;
}

} // namespace millrace::test
