// Blocks: their parameters are exactly the tensors of real checkpoints, and their layout keeps its promises.
#include "configs.h"
#include "model/blocks.h"

#include <QtTest>
#include <fmt/format.h>
#include <map>

using namespace millrace;
using namespace millrace::test;

namespace {

using Shapes = std::map<std::string, std::vector<std::int64_t>>;

/// Names and shapes in the safetensors files of a folder, read with nothing of the engine but its files.
Shapes shapesInFolder(const Path& folder) {
  LocalFileSystem files;
  Shapes shapes;
  for (const std::string& name : valueOrThrow(files.list(folder))) {
    if (!name.ends_with(".safetensors")) continue;
    const std::string bytes = valueOrThrow(readTextFile(files, folder / name));
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    const Json header = Json::parse(bytes.substr(8, length));
    for (const auto& [tensor, entry] : header.items())
      if (tensor != "__metadata__") shapes[tensor] = entry["shape"].get<std::vector<std::int64_t>>();
  }
  return shapes;
}

Shapes shapesOf(const ModelSpec& spec) {
  Shapes shapes;
  for (const BlockSpec& block : blocksOf(spec))
    for (const ParameterSpec& parameter : block.parameters)
      for (int i = 0; i < parameter.shape.rank(); ++i) shapes[parameter.name].push_back(parameter.shape[i]);
  return shapes;
}

std::string text(const Shapes& shapes) {
  std::string result;
  for (const auto& [name, shape] : shapes) result += fmt::format("{} ({})\n", name, fmt::join(shape, ", "));
  return result;
}

ModelSpec specOf(const std::string& family, const std::string& change = "") {
  return valueOrThrow(modelSpecFromConfig(changedConfig(family, change), "config"));
}

const BlockSpec& blockNamed(const std::vector<BlockSpec>& blocks, const std::string& name) {
  for (const BlockSpec& block : blocks)
    if (block.name == name) return block;
  throw std::runtime_error("no block " + name);
}

} // namespace

class TestBlocks : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void parametersAreTheCheckpoints_data() {
    QTest::addColumn<QString>("name");
    for (const std::string& name : goldenCases()) QTest::addRow("%s", name.c_str()) << QString::fromStdString(name);
  }
  void parametersAreTheCheckpoints() {
    QFETCH(QString, name);
    LocalFileSystem files;
    const Path folder = goldenFolder(name.toStdString());
    const ModelSpec spec = valueOrThrow(readModelConfig(files, folder));
    const Shapes inFiles = shapesInFolder(folder), computed = shapesOf(spec);
    QVERIFY(!inFiles.empty());
    QCOMPARE(QString::fromStdString(text(computed)), QString::fromStdString(text(inFiles)));
    std::int64_t elements = 0;
    for (const auto& [tensor, shape] : inFiles) {
      std::int64_t size = 1;
      for (const std::int64_t dim : shape) size *= dim;
      elements += size;
    }
    QCOMPARE(parameterCount(spec), elements);
  }

  void layoutKeepsItsPromises_data() {
    QTest::addColumn<QString>("family");
    QTest::addColumn<QString>("change");
    QTest::newRow("llama") << "llama"
                           << "";
    QTest::newRow("llama with biases") << "llama"
                                       << R"({"attention_bias": true, "mlp_bias": true})";
    QTest::newRow("llama with odd sizes") << "llama"
                                          << R"({"hidden_size": 36, "head_dim": 6, "intermediate_size": 37})";
    QTest::newRow("qwen2 tied") << "qwen2"
                                << R"({"tie_word_embeddings": true})";
    QTest::newRow("qwen3") << "qwen3"
                           << "";
    QTest::newRow("mistral") << "mistral"
                             << "";
    QTest::newRow("gpt2") << "gpt2"
                          << "";
    QTest::newRow("gpt2 untied") << "gpt2"
                                 << R"({"tie_word_embeddings": false})";
  }
  void layoutKeepsItsPromises() {
    QFETCH(QString, family);
    QFETCH(QString, change);
    const ModelSpec spec = specOf(family.toStdString(), change.toStdString());
    const std::vector<BlockSpec> blocks = blocksOf(spec);
    QCOMPARE(blocks.front().kind, BlockKind::Embedding);
    QCOMPARE(blocks.back().kind, spec.tiedEmbeddings ? BlockKind::FinalNorm : BlockKind::Head);
    for (const BlockSpec& block : blocks) {
      QVERIFY(!block.roles.empty());
      QCOMPARE(block.elements % 128, std::int64_t{0});
      std::int64_t end = 0;
      std::size_t next = 0;
      for (const RoleSpec& role : block.roles) {
        QCOMPARE(block.find(role.role), &role); // each role once
        QCOMPARE(role.offset % 128, std::int64_t{0});
        QVERIFY(role.offset >= end && role.offset - end < 128);
        // The role's elements are those of whole parameters that touch each other.
        std::int64_t at = role.offset;
        while (at < role.offset + role.shape.elements()) {
          QVERIFY(next < block.parameters.size());
          const ParameterSpec& parameter = block.parameters[next++];
          QCOMPARE(parameter.offset, at);
          QCOMPARE(parameter.decay, parameter.shape.rank() >= 2);
          at += parameter.elements();
        }
        end = role.offset + role.shape.elements();
        QCOMPARE(at, end);
      }
      QCOMPARE(next, block.parameters.size());
      QVERIFY(block.elements >= end && block.elements - end < 128);
    }
  }

  void fusedRolesHaveTheirParts() {
    const auto blocks = blocksOf(specOf("llama", R"({"attention_bias": true})"));
    const BlockSpec& attention = blockNamed(blocks, "layers.2.attention");
    QCOMPARE(attention.layer, std::int64_t{2});
    QVERIFY(attention.find(Role::QkvWeight)->shape == Shape({32 + 16 + 16, 32}));
    QVERIFY(attention.find(Role::QkvBias)->shape == Shape({64}));
    QVERIFY(attention.find(Role::QNormWeight) == nullptr);
    std::vector<std::string> names;
    for (const ParameterSpec& parameter : attention.parameters) names.push_back(parameter.name);
    const std::string p = "model.layers.2.";
    QVERIFY(names == std::vector<std::string>(
                         {p + "input_layernorm.weight", p + "self_attn.q_proj.weight", p + "self_attn.k_proj.weight",
                          p + "self_attn.v_proj.weight", p + "self_attn.q_proj.bias", p + "self_attn.k_proj.bias",
                          p + "self_attn.v_proj.bias", p + "self_attn.o_proj.weight", p + "self_attn.o_proj.bias"}));
    const BlockSpec& mlp = blockNamed(blocks, "layers.2.mlp");
    QVERIFY(mlp.find(Role::UpWeight)->shape == Shape({96, 32}));
    QCOMPARE(mlp.parameters[1].name, p + "mlp.gate_proj.weight");
    QCOMPARE(mlp.parameters[2].name, p + "mlp.up_proj.weight");
  }

  void conv1dRolesKeepTheirStoredShape() {
    const auto blocks = blocksOf(specOf("gpt2"));
    QCOMPARE(blocks[1].kind, BlockKind::Positions);
    const BlockSpec& attention = blockNamed(blocks, "layers.0.attention");
    QVERIFY(attention.find(Role::QkvWeight)->shape == Shape({32, 96}));
    QVERIFY(blockNamed(blocks, "layers.0.mlp").find(Role::DownWeight)->shape == Shape({128, 32}));
  }

  void piecesCoverARange() {
    const auto blocks = blocksOf(specOf("llama", R"({"hidden_size": 36, "head_dim": 6})"));
    const BlockSpec& block = blockNamed(blocks, "layers.0.attention");
    for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{0, block.elements},
                                       {30, 200},
                                       {0, 1},
                                       {129, block.elements - 129},
                                       {40, 80},
                                       {50, 0}}) {
      std::vector<int> covered(static_cast<std::size_t>(count));
      for (const BlockPiece& piece : piecesOf(block, first, count)) {
        QVERIFY(piece.count > 0 && piece.first + piece.count <= piece.parameter->elements());
        QCOMPARE(first + piece.at, piece.parameter->offset + piece.first);
        for (std::int64_t i = 0; i < piece.count; ++i) ++covered[static_cast<std::size_t>(piece.at + i)];
      }
      for (std::int64_t i = 0; i < count; ++i) {
        bool inside = false;
        for (const ParameterSpec& parameter : block.parameters)
          inside |= first + i >= parameter.offset && first + i < parameter.offset + parameter.elements();
        QCOMPARE(covered[static_cast<std::size_t>(i)], inside ? 1 : 0);
      }
    }
  }

  void namesWithAndWithoutPrefix() {
    QVERIFY(checkpointNames("transformer.h.0.ln_1.bias") ==
            std::vector<std::string>({"transformer.h.0.ln_1.bias", "h.0.ln_1.bias"}));
    QVERIFY(checkpointNames("model.norm.weight") == std::vector<std::string>({"model.norm.weight", "norm.weight"}));
    QVERIFY(checkpointNames("lm_head.weight") == std::vector<std::string>({"lm_head.weight"}));
  }

  void realModelsHaveTheirPublishedSizes() {
    const ModelSpec llama = specOf("llama", R"({"vocab_size": 128256, "hidden_size": 4096, "intermediate_size": 14336,
      "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128})");
    QCOMPARE(parameterCount(llama), std::int64_t{8030261248});
    const ModelSpec gpt2 = specOf("gpt2", R"({"vocab_size": 50257, "n_embd": 768, "n_layer": 12, "n_head": 12,
      "n_positions": 1024})");
    QCOMPARE(parameterCount(gpt2), std::int64_t{124439808});
    const ModelSpec qwen = specOf("qwen2", R"({"vocab_size": 151936, "hidden_size": 896, "intermediate_size": 4864,
      "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2, "head_dim": 64,
      "tie_word_embeddings": true})");
    QCOMPARE(parameterCount(qwen), std::int64_t{494032768});
  }
};

QTEST_GUILESS_MAIN(TestBlocks)
#include "test_blocks.moc"
