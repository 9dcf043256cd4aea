// The model that a project names, and that the project's other settings go with it.
#include "base/atomic_file.h"
#include "project/project_file.h"
#include "project/project_model.h"

#include <QTemporaryDir>
#include <QtTest>

using namespace millrace;

namespace {

const char* const llama = R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "vocab_size": 500,
  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 128})";
const char* const gpt2 =
    R"({"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 128, "vocab_size": 500})";

Project withConfig(const char* config) {
  Project project;
  project.model = ModelConfig{{}, config};
  project.tokenizer = TokenizerTraining{400, MiB};
  project.training.context = 128;
  return project;
}

} // namespace

class TestProjectModel : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void inlineFileAndFolderAgree() {
    QTemporaryDir folder;
    const Path path = Path(folder.path().toStdString()) / "config.json";
    LocalFileSystem files;
    QVERIFY(writeTextFile(files, path, llama).has_value());
    Project project = withConfig(llama);
    for (const ModelSource& model : {ModelSource(ModelConfig{{}, llama}), ModelSource(ModelConfig{path, ""}),
                                     ModelSource(ModelFolder{path.parent_path()})}) {
      project.model = model;
      const auto spec = readProjectModel(files, project, "p.json");
      QVERIFY2(spec.has_value(), spec ? "" : spec.error().message.c_str());
      QCOMPARE(spec->hidden, 64);
      QCOMPARE(spec->layers.size(), std::size_t{2});
      QCOMPARE(spec->vocabulary, 500);
    }
  }

  /// Of a trained model, by its own tokenizer or the one that is named in its place.
  void addedTokensGrowTheVocabulary() {
    QTemporaryDir folder;
    const Path path = folder.path().toStdString();
    LocalFileSystem files;
    QVERIFY(writeTextFile(files, path / "config.json", llama).has_value());
    QVERIFY(writeTextFile(files, path / "tokenizer.json", R"({"added_tokens": [{"id": 500, "content": "<a>"},
      {"id": 501, "content": "<b>"}], "model": {"vocab": {"x": 0}}})")
                .has_value());
    QVERIFY(
        writeTextFile(files, path / "plain.json", R"({"added_tokens": [], "model": {"vocab": {"x": 0}}})").has_value());
    QVERIFY(
        writeTextFile(files, path / "gap.json", R"({"added_tokens": [{"id": 777, "content": "<far>"}]})").has_value());
    Project project = withConfig(llama);
    const auto rows = [&](const ModelSource& model, const TokenizerSource& tokenizer, std::size_t warned) {
      project.model = model;
      project.tokenizer = tokenizer;
      std::vector<std::string> warnings;
      const auto spec = readProjectModel(files, project, "p.json", &warnings);
      if (!spec) return std::int64_t{-1};
      return warnings.size() == warned ? spec->vocabulary : -2;
    };
    QCOMPARE(rows(ModelFolder{path}, TokenizerOfModel{}, 1), std::int64_t{502});
    QCOMPARE(rows(ModelFolder{path}, TokenizerFile{path / "plain.json"}, 0), std::int64_t{500});
    QCOMPARE(rows(ModelFolder{path}, TokenizerFile{path / "missing.json"}, 0), std::int64_t{500});
    QCOMPARE(rows(ModelFolder{path}, TokenizerFile{path / "gap.json"}, 0), std::int64_t{-1});
    QCOMPARE(rows(ModelFolder{path}, TokenizerTraining{400, MiB}, 0), std::int64_t{-1});
    // A model that begins with random weights has the rows that its config gives it.
    QCOMPARE(rows(ModelConfig{path / "config.json", ""}, TokenizerFile{path / "tokenizer.json"}, 0), std::int64_t{500});
  }

  void refused() {
    LocalFileSystem files;
    Project project = withConfig(llama);
    project.tokenizer = TokenizerTraining{501, MiB};
    auto spec = readProjectModel(files, project, "p.json");
    QVERIFY(!spec && spec.error().message.find("p.json: tokenizer.train.vocabulary is 501") != std::string::npos);
    QVERIFY(spec.error().message.find("500") != std::string::npos);

    project = withConfig(gpt2);
    QVERIFY(readProjectModel(files, project, "p.json").has_value());
    project.training.context = 129;
    spec = readProjectModel(files, project, "p.json");
    QVERIFY(!spec && spec.error().message.find("training.context is 129") != std::string::npos);

    project = withConfig(R"({"model_type": "llama", "hidden_size": -3})");
    spec = readProjectModel(files, project, "p.json");
    QVERIFY(!spec && spec.error().message.find("p.json: model.config") == 0);

    project.model = ModelConfig{"/no/such/config.json", ""};
    spec = readProjectModel(files, project, "p.json");
    QVERIFY(!spec && spec.error().message.find("/no/such/config.json") != std::string::npos);
  }
};

QTEST_GUILESS_MAIN(TestProjectModel)
#include "test_project_model.moc"
