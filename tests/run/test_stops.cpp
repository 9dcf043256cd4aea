// A run can be stopped at any moment: what it has trained is saved, and going on gives the bits of a run never stopped.
// The moments are the lines of its journal, which the run writes on its own thread.
#include "engine/run.h"

#include "base/json_reader.h"
#include "project/project_file.h"
#include "run/run_status.h"
#include "support/forwarding_file_system.h"

#include <QTemporaryDir>
#include <QtTest>
#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <limits>

using namespace millrace;
using namespace millrace::test;

namespace {

/// Calls back for every line that goes into a run's journal, and may refuse it.
class JournalWatch final : public ForwardingFileSystem {
 public:
  using Line = std::function<Status(const std::string& file, std::string_view line)>;
  JournalWatch(FileSystem& inner, Line line) : ForwardingFileSystem(inner), m_line(std::move(line)) {}

  Result<std::unique_ptr<File>> open(const Path& path, OpenMode mode) override {
    MILLRACE_TRY(auto file, ForwardingFileSystem::open(path, mode));
    const std::string name = path.filename().string();
    if (path.extension() != ".jsonl" || mode != OpenMode::ReadWrite) return file;
    return std::make_unique<Watched>(std::move(file),
                                     [this, name](std::string_view line) { return m_line(name, line); });
  }

 private:
  class Watched final : public ForwardingFile {
   public:
    Watched(std::unique_ptr<File> inner, std::function<Status(std::string_view)> line)
        : ForwardingFile(std::move(inner)), m_line(std::move(line)) {}
    Status write(std::span<const std::byte> source, Bytes offset) override {
      MILLRACE_CHECK(m_line({reinterpret_cast<const char*>(source.data()), source.size()}));
      return ForwardingFile::write(source, offset);
    }

   private:
    std::function<Status(std::string_view)> m_line;
  };

  Line m_line;
};

/// What a run left: figures of its steps, and weights, moments and position of its last checkpoint.
struct Remains {
  std::vector<std::string> steps;
  std::string tensors;
  Json state;
  std::int64_t savedStep = 0;

  bool operator==(const Remains&) const = default;
};

constexpr int steps = 7;

} // namespace

class TestStops : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() {
    std::string text;
    for (int i = 0; i < 200; ++i) text += "The goose of day " + std::to_string(i) + " walked to the river.\n%\n";
    write("geese.txt", text);
    const Json config{{"model_type", "llama"},    {"vocab_size", 300},          {"hidden_size", 16},
                      {"intermediate_size", 32},  {"num_hidden_layers", 2},     {"num_attention_heads", 2},
                      {"num_key_value_heads", 1}, {"tie_word_embeddings", true}};
    const Json project{
        {"format", 1},
        {"name", "goose"},
        {"model", {{"config", config}}},
        {"tokenizer", {{"train", {{"vocabulary", 300}}}}},
        {"data", {{"sources", {{"path", "geese.txt"}, {"separator", "%"}}}, {"cache", "cache"}}},
        {"training", {{"steps", steps}, {"context", 32}, {"micro_batch", 2}, {"micro_batches", 2}, {"threads", 1}}},
        {"memory", {{"vram_limit", "4MiB"}, {"ram_limit", "64MiB"}}},
        {"evaluation", {{"every", 2}}},
        {"checkpoint", {{"every", 3}}},
        {"samples", {{"every", 3}, {"prompts", {"The"}}, {"tokens", 4}}},
    };
    m_project = valueOrThrow(projectFromJson(project, "goose.json", folder()));
    const RunOutcomeReport report = train("whole", [this](Run&, const std::string&, std::string_view) {
      ++m_lines;
      return Status{};
    });
    QVERIFY(report.state == RunState::Finished);
    m_whole = remains("whole");
    QCOMPARE(m_whole.steps.size(), static_cast<std::size_t>(steps));
    QCOMPARE(m_whole.savedStep, steps);
    QVERIFY(m_lines > 3 * steps);
  }

  void atEveryLineOfTheJournal() {
    for (int moment = 0; moment < m_lines; ++moment) {
      const std::string name = "stopped-" + std::to_string(moment);
      int line = 0;
      const RunOutcomeReport report = train(name, [&](Run& run, const std::string&, std::string_view) {
        if (line++ == moment) run.stop();
        return Status{};
      });
      savesAndGoesOn(name, report);
    }
  }

  /// Between the end of a pause and the next step.
  void asSoonAsAPauseEnds() {
    bool paused = false;
    const RunOutcomeReport report = train("paused", [&](Run& run, const std::string& file, std::string_view line) {
      const auto says = [&](std::string_view words) { return line.find(words) != line.npos; };
      if (file == "metrics.jsonl" && says("\"step\":5,")) run.pause();
      if (paused && says("\"running\"")) run.stop();
      if (says("\"paused\"")) {
        paused = true;
        run.resumeTraining();
      }
      return Status{};
    });
    QVERIFY(paused);
    QVERIFY(report.state == RunState::Interrupted);
    QCOMPARE(report.step, 5); // where nothing else saves
    savesAndGoesOn("paused", report);
  }

  /// The step is trained, only its figures wait for room: it is saved as trained.
  void whileTheDiskIsFull() {
    bool full = false;
    const RunOutcomeReport report = train("full", [&](Run& run, const std::string& file, std::string_view line) {
      if (line.find("\"paused\"") != line.npos) run.stop();
      if (full || file != "metrics.jsonl" || line.find("\"step\":2,") == line.npos) return Status{};
      full = true;
      return Status(failure(ErrorKind::OutOfSpace, "injected: no space left on device"));
    });
    QVERIFY(full);
    QVERIFY(report.state == RunState::Interrupted);
    QCOMPARE(report.step, 2);
    savesAndGoesOn("full", report);
  }

  /// Somebody removes the folder under the run: what is saved can be resumed all the same, to the same bits.
  void whoseFolderIsRemoved() {
    const RunOutcomeReport report = train("removed", [&](Run& run, const std::string& file, std::string_view line) {
      if (file != "metrics.jsonl" || line.find("\"step\":5,") == line.npos) return Status{};
      const Status removed = m_local.remove(folder() / "removed");
      run.stop();
      return removed;
    });
    QVERIFY(report.state == RunState::Interrupted);
    QCOMPARE(report.step, 5);
    QCOMPARE(remains("removed").savedStep, 5);
    const auto again = Run::resume(m_local, optionsOf("removed"));
    QVERIFY2(again.has_value(), again ? "" : again.error().message.c_str());
    QVERIFY((*again)->wait().state == RunState::Finished);
    const Remains left = remains("removed");
    QVERIFY(left.tensors == m_whole.tensors && left.state == m_whole.state);
    QCOMPARE(left.steps, std::vector<std::string>(m_whole.steps.begin() + 5, m_whole.steps.end()));
  }

  /// A run keeps what it needs of the folder that its model came from, and where it fails to, it is as it was.
  void whoseModelIsGone() {
    const Path model = folder() / "model";
    const Project project = projectOnModel(model);
    write("model/generation_config.json", "{}");
    QVERIFY(valueOrThrow(Run::start(m_local, project, optionsOf("tuned")))->wait().state == RunState::Finished);
    const RunOutcomeReport report = train(
        "orphan",
        [](Run& run, const std::string& file, std::string_view line) {
          if (file == "metrics.jsonl" && line.find("\"step\":4,") != line.npos) run.stop();
          return Status{};
        },
        project);
    QVERIFY(report.state == RunState::Interrupted);
    QVERIFY(m_local.remove(model).has_value());
    const Path tokenizer = folder() / "orphan" / "tokenizer.json";
    std::filesystem::rename(tokenizer, folder() / "kept.json");
    const auto refused = Run::resume(m_local, optionsOf("orphan"));
    QVERIFY(!refused.has_value() && refused.error().message.find("model/config.json") != std::string::npos);
    QVERIFY(runStatus(m_local, RunDirectory(folder() / "orphan")).outcome == RunOutcome::Interrupted);
    std::filesystem::rename(folder() / "kept.json", tokenizer);
    const auto again = Run::resume(m_local, optionsOf("orphan"));
    QVERIFY2(again.has_value(), again ? "" : again.error().message.c_str());
    QVERIFY((*again)->wait().state == RunState::Finished);
    QVERIFY(remains("orphan") == remains("tuned"));
    QVERIFY(m_local.exists(newestCheckpoint("orphan") / "generation_config.json"));
  }

  /// Weights that are finite and too large to compute with.
  void thatTrainsNothing() {
    const Path model = folder() / "huge";
    Project project = projectOnModel(model);
    project.samples = {}; // a sample would tell of it first
    const Path file = model / "model-00001-of-00001.safetensors";
    std::string bytes = valueOrThrow(readTextFile(m_local, file));
    std::uint64_t header = 0;
    std::memcpy(&header, bytes.data(), sizeof header);
    const Json norm = Json::parse(bytes.substr(8, header)).at("model.norm.weight").at("data_offsets");
    const std::vector<float> values(16, std::numeric_limits<float>::max());
    QCOMPARE(norm.at(1).get<std::size_t>() - norm.at(0).get<std::size_t>(), values.size() * sizeof(float));
    std::memcpy(bytes.data() + 8 + header + norm.at(0).get<std::size_t>(), values.data(),
                values.size() * sizeof(float));
    write("huge/" + file.filename().string(), bytes);
    const RunOutcomeReport report = valueOrThrow(Run::start(m_local, project, optionsOf("nothing")))->wait();
    QVERIFY(report.state == RunState::Failed);
    QVERIFY2(report.error && report.error->message.find("all 7 steps") != std::string::npos,
             report.error ? report.error->message.c_str() : "");
  }

  /// What evaluations and samples move between steps is in no step's figures.
  void figuresAreOfStepsAlone() {
    Project plain = m_project;
    plain.evaluation.every = plain.samples.every = 0;
    QVERIFY(valueOrThrow(Run::start(m_local, plain, optionsOf("plain")))->wait().state == RunState::Finished);
    const std::vector<std::string> alone = linkBytes("plain");
    QCOMPARE(alone.size(), static_cast<std::size_t>(steps));
    QCOMPARE(linkBytes("whole"), alone);
  }

 private:
  using OnLine = std::function<Status(Run& run, const std::string& file, std::string_view line)>;

  Path folder() const { return m_folder.path().toStdString(); }

  void write(const std::string& name, std::string_view text) {
    const auto file = valueOrThrow(m_local.open(folder() / name, OpenMode::Create));
    valueOrThrow(file->write(std::as_bytes(std::span(text)), 0));
  }

  RunOptions optionsOf(const std::string& name) const {
    RunOptions options;
    options.directory = folder() / name;
    return options;
  }

  RunOutcomeReport train(const std::string& name, const OnLine& onLine) { return train(name, onLine, m_project); }

  RunOutcomeReport train(const std::string& name, const OnLine& onLine, const Project& project) {
    std::promise<Run*> started;
    const std::shared_future<Run*> run = started.get_future().share();
    JournalWatch files(m_local, [&](const std::string& file, std::string_view line) {
      return onLine(*run.get(), file, line); // the first lines wait until it is known whom to stop
    });
    const auto owned = valueOrThrow(Run::start(files, project, optionsOf(name)));
    started.set_value(owned.get());
    return owned->wait();
  }

  std::vector<Json> metrics(const std::string& name) {
    const std::string lines = readTextFile(m_local, folder() / name / "metrics.jsonl").value_or(std::string());
    std::vector<Json> all;
    for (std::size_t begin = 0, end; (end = lines.find('\n', begin)) != lines.npos; begin = end + 1)
      all.push_back(Json::parse(lines.substr(begin, end - begin)));
    return all;
  }

  std::vector<std::string> linkBytes(const std::string& name) {
    std::vector<std::string> bytes;
    for (const Json& step : metrics(name))
      bytes.push_back(Json{step.at("links").at(0).at("bytes_in"), step.at("links").at(0).at("bytes_out")}.dump());
    return bytes;
  }

  /// The project of all runs, on a folder with the model that the whole one made.
  Project projectOnModel(const Path& model) {
    const Path checkpoint = newestCheckpoint("whole");
    valueOrThrow(m_local.createDirectories(model));
    for (const std::string& file : valueOrThrow(m_local.list(checkpoint)))
      if (file.starts_with("model") || file == "config.json" || file == "tokenizer.json")
        std::filesystem::copy_file(checkpoint / file, model / file);
    Project project = m_project;
    project.model = ModelFolder{model};
    project.tokenizer = TokenizerOfModel{};
    return project;
  }

  /// Empty: there is none.
  Path newestCheckpoint(const std::string& name) {
    const Path checkpoints = folder() / name / "checkpoints";
    const std::vector<std::string> saved = valueOrThrow(m_local.list(checkpoints));
    const auto newest =
        std::find_if(saved.rbegin(), saved.rend(), [](const std::string& entry) { return entry.starts_with("step-"); });
    return newest == saved.rend() ? Path() : checkpoints / *newest;
  }

  Remains remains(const std::string& name) {
    Remains left;
    for (const Json& step : metrics(name))
      left.steps.push_back(
          Json{step.at("step"), step.at("loss"), step.at("grad_norm"), step.at("learning_rate")}.dump());
    const Path checkpoint = newestCheckpoint(name);
    if (checkpoint.empty()) return left;
    left.savedStep = std::stoll(checkpoint.filename().string().substr(5));
    for (const std::string& file : valueOrThrow(m_local.list(checkpoint)))
      if (file.ends_with(".safetensors")) left.tensors += valueOrThrow(readTextFile(m_local, checkpoint / file));
    left.state = Json::parse(valueOrThrow(readTextFile(m_local, checkpoint / "state.json")));
    left.state.erase("elapsed_seconds");
    return left;
  }

  void savesAndGoesOn(const std::string& name, const RunOutcomeReport& report) {
    const Remains stopped = remains(name);
    const auto context = QString("%1, after step %2").arg(QString::fromStdString(name)).arg(report.step).toUtf8();
    QVERIFY2(stopped.savedStep == report.step, context.constData());
    QVERIFY2(stopped.steps.size() == static_cast<std::size_t>(report.step), context.constData());
    if (report.state == RunState::Interrupted) {
      const auto again = Run::resume(m_local, optionsOf(name));
      QVERIFY2(again.has_value(), again ? "" : again.error().message.c_str());
      QVERIFY((*again)->wait().state == RunState::Finished);
    }
    QVERIFY2(remains(name) == m_whole, context.constData());
    QVERIFY(m_local.remove(folder() / name).has_value());
  }

  QTemporaryDir m_folder;
  LocalFileSystem m_local;
  Project m_project;
  Remains m_whole;
  int m_lines = 0;
};

QTEST_GUILESS_MAIN(TestStops)
#include "test_stops.moc"
