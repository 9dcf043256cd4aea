// Benchmarks give complete reports of the right sizes; how fast things are is not for a test to say.
#include "engine/bench.h"
#include "engine/probe.h"
#include "support/model_folder.h"

#include "plan/memory_plan.h"
#include "probe/machine_probe.h"

#include <QTemporaryDir>
#include <QTest>

using namespace millrace;
using namespace millrace::test;

namespace {

Project smallProject() {
  Project project;
  project.name = "bench";
  project.model = ModelConfig{{}, smallConfig("llama").dump()};
  project.tokenizer = TokenizerTraining{300, MiB};
  project.training.microBatch = 2;
  project.training.microBatches = 3;
  project.training.context = 48;
  project.training.threads = 2;
  project.memory.ramLimit = GiB;
  return project;
}

} // namespace

class TestBench : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void step_data();
  void step();
  void aliasedLayers();
  void onDisk();
  void ofAModel();
  void refused();
  void givenUp();
  void optimizer();
  void copies();
  void machine();
  void machineRefused();

 private:
  LocalFileSystem m_files;
};

void TestBench::step_data() {
  QTest::addColumn<bool>("streamed");
  QTest::addColumn<int>("precision");
  for (const Precision precision : {Precision::Fp32, Precision::Bf16}) {
    const std::string suffix = precision == Precision::Fp32 ? "fp32" : "bf16";
    QTest::newRow(("streamed " + suffix).c_str()) << true << static_cast<int>(precision);
    QTest::newRow(("resident " + suffix).c_str()) << false << static_cast<int>(precision);
  }
}

void TestBench::step() {
  QFETCH(bool, streamed);
  QFETCH(int, precision);
  Project project = smallProject();
  project.training.precision = static_cast<Precision>(precision);
  project.memory.vramLimit = 256 * MiB;
  project.memory.placement = streamed ? PlacementChoice::Ram : PlacementChoice::Vram;
  BenchStepOptions options;
  options.rounds = 2;
  options.stepsPerRound = 2;
  int told = 0;
  options.progress = [&](int done, int rounds) {
    ++told;
    return done < rounds && rounds == 2;
  };
  const auto report = benchStep(m_files, project, "project", options);
  QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
  QCOMPARE(told, 2);
  QCOMPARE(report->tokens, std::int64_t{2 * 3 * 48});
  QCOMPARE(report->machine.threads, 2);
  QCOMPARE(report->streamedLayers, std::int64_t{streamed ? 3 : 0});
  QVERIFY(report->seconds > 0 && report->tokensPerSecond > 0 && report->productSeconds > 0);
  QVERIFY(report->forwardSeconds > 0 && report->backwardSeconds > 0);
  QVERIFY(report->forwardSeconds + report->backwardSeconds <= 1.5 * report->seconds);
  QVERIFY(report->productShare > 0.01 && report->productShare < 3);
  QVERIFY(report->devicePeak > 0 && report->devicePeak <= 256 * MiB);
  QVERIFY(report->hostPeak > 0);

  // Streamed layers come in for forward, and all but those that are still there again for backward; sums leave once.
  const ModelSpec spec = valueOrThrow(modelSpecFromConfig(smallConfig("llama"), "config"));
  const Bytes width = precision == static_cast<int>(Precision::Fp32) ? 4 : 2;
  Bytes layers = 0;
  for (const BlockSpec& block : blocksOf(spec)) layers += block.layer >= 0 ? block.elements : 0;
  if (streamed) {
    QVERIFY(report->bytesIn > layers * width && report->bytesIn < 3 * layers * width);
    QVERIFY(report->bytesOut > layers * 4);
  } else {
    QVERIFY(report->bytesIn < layers * width / 2);
    QVERIFY(report->bytesOut < layers * 4 / 2);
  }
  const auto json = parseJson(toJson(*report), "report");
  QVERIFY(json.has_value());
  QCOMPARE((*json)["tokens_per_second"].get<double>(), report->tokensPerSecond);
  QCOMPARE((*json)["model"]["hidden_size"].get<int>(), 64);
  QCOMPARE((*json)["matrix_products"]["share_of_step"].get<double>(), report->productShare);
  QCOMPARE((*json)["links"][0]["bytes_in"].get<std::int64_t>(), report->bytesIn);
  QCOMPARE((*json)["device"].get<std::string>(), std::string("cpu"));
  QVERIFY((*json)["links"][0]["busy_share_in"].get<double>() > 0);
  QVERIFY((*json)["bound_seconds"].get<double>() > 0 && report->predictedSeconds > 0);
  QVERIFY((*json)["peak_bytes"]["process"].get<std::int64_t>() > report->hostPeak);
  // Attention's part is in both; the latter has what is computed again.
  QVERIFY(report->modelFlops > 0 && report->hardwareFlops >= report->modelFlops);
  QVERIFY(report->hardwareFlops > report->productFlops);
  QVERIFY(!json->contains("alias_layers") && !json->contains("link_limit_bytes_per_second"));
}

/// All layers in the host memory of four, with the work of all.
void TestBench::aliasedLayers() {
  Project project = smallProject();
  Json config = smallConfig("llama");
  config["num_hidden_layers"] = 9;
  project.model = ModelConfig{{}, config.dump()};
  project.memory.vramLimit = 256 * MiB;
  project.memory.placement = PlacementChoice::Ram;
  const auto plain = benchStep(m_files, project, "project");
  BenchStepOptions options;
  options.aliasSets = 4;
  const auto aliased = benchStep(m_files, project, "project", options);
  QVERIFY2(aliased.has_value(), aliased ? "" : aliased.error().message.c_str());
  QCOMPARE(aliased->streamedLayers, std::int64_t{9});
  QCOMPARE(aliased->bytesIn, plain->bytesIn);
  QCOMPARE(aliased->bytesOut, plain->bytesOut);
  QCOMPARE(aliased->hardwareFlops, plain->hardwareFlops);
  const ModelSpec spec = valueOrThrow(modelSpecFromConfig(config, "config"));
  Bytes layer = 0;
  for (const BlockSpec& block : blocksOf(spec)) layer += block.layer == 0 ? block.elements * 16 : 0;
  QCOMPARE(plain->hostPeak - aliased->hostPeak, 5 * layer);
  const auto json = parseJson(toJson(*aliased), "report");
  QCOMPARE((*json)["alias_layers"]["sets"].get<int>(), 4);
  QVERIFY(json->dump().find("mean nothing") != std::string::npos);
  options.aliasSets = 3;
  QCOMPARE(benchStep(m_files, project, "project", options).error().kind, ErrorKind::BadInput);
}

/// What has no room in memory goes to the disk, and its bytes are told.
void TestBench::onDisk() {
  const QTemporaryDir drive;
  Project project = smallProject();
  Json config = smallConfig("llama");
  config["num_hidden_layers"] = 60;
  project.model = ModelConfig{{}, config.dump()};
  project.memory.placement = PlacementChoice::Ram;
  BenchStepOptions options;
  options.rounds = options.stepsPerRound = 1;
  const auto inMemory = benchStep(m_files, project, "project", options);
  QVERIFY2(inMemory.has_value(), inMemory ? "" : inMemory.error().message.c_str());
  QCOMPARE(inMemory->diskBytes + inMemory->diskRead + inMemory->diskWritten, Bytes{0});
  project.memory.placement = PlacementChoice::Auto;
  project.memory.vramLimit = 8 * MiB;
  project.memory.nvme.directories = {drive.path().toStdString()};
  Result<BenchStepReport> report = failed("no limit tried");
  for (Bytes percent = 90; percent > 10 && !(report && report->diskBytes > 0); percent -= 10) {
    project.memory.ramLimit = inMemory->hostPeak * percent / 100;
    report = benchStep(m_files, project, "project", options);
    QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
  }
  QVERIFY(report->momentsOnDisk + report->onDisk > 0);
  QVERIFY(report->hostPeak <= project.memory.ramLimit);
  // AdamW reads and writes 10 or 12 bytes of each of the parameters, whose files are no smaller than that.
  QVERIFY(report->diskWritten > 0 && report->diskRead >= report->diskWritten);
  QVERIFY(report->diskBytes >= report->diskWritten / 2);
  const auto json = parseJson(toJson(*report), "report");
  QCOMPARE((*json)["links"][1]["name"].get<std::string>(), std::string("disk"));
  QCOMPARE((*json)["links"][1]["bytes_out"].get<Bytes>(), report->diskWritten);
  project.memory.nvme.compression = DiskCompression::On;
  const auto compressed = benchStep(m_files, project, "project", options);
  QVERIFY2(compressed.has_value(), compressed ? "" : compressed.error().message.c_str());
  QVERIFY(compressed->diskWritten < report->diskWritten);
}

void TestBench::ofAModel() {
  const ModelSource model = ModelConfig{{}, smallConfig("llama").dump()};
  const auto project = benchProject(m_files, "small", model, 96, {"training.threads=2", "training.device=cpu"});
  QVERIFY2(project.has_value(), project ? "" : project.error().message.c_str());
  QCOMPARE(project->training.tokensPerStep(), std::int64_t{96});
  QCOMPARE(project->training.threads, std::int64_t{2});
  QVERIFY(!benchProject(m_files, "small", model, 0).has_value());
  QVERIFY(!benchProject(m_files, "small", model, 1500).has_value());
  BenchStepOptions options;
  options.rounds = options.stepsPerRound = 1;
  options.isa = "scalar";
  const auto report = benchStep(m_files, *project, "small", options);
  QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
  QCOMPARE(report->tokens, std::int64_t{96});
  QCOMPARE(report->precision, std::string("bf16"));
  QCOMPARE(report->machine.instructionSet, std::string("scalar"));
  options.isa = "sse";
  QCOMPARE(benchStep(m_files, *project, "small", options).error().kind, ErrorKind::BadInput);
  options.isa = "auto";
  options.linkLimit = 1e9; // the CPU has no link
  QCOMPARE(benchStep(m_files, *project, "small", options).error().kind, ErrorKind::BadInput);
}

void TestBench::refused() {
  Project project = smallProject();
  project.memory.vramLimit = 1000;
  auto report = benchStep(m_files, project, "project");
  QVERIFY(!report.has_value());
  QCOMPARE(report.error().kind, ErrorKind::DoesNotFit);
  project = smallProject();
  project.model = ModelConfig{"/nowhere/config.json", ""};
  report = benchStep(m_files, project, "project");
  QVERIFY(!report.has_value());
  QCOMPARE(report.error().kind, ErrorKind::BadInput);
  BenchStepOptions options;
  options.rounds = 0;
  QVERIFY(!benchStep(m_files, smallProject(), "project", options).has_value());
  ComputeOptions tight;
  tight.hostLimit = MiB;
  const auto optimizer = benchOptimizer(tight, 1'000'000);
  QVERIFY(!optimizer.has_value());
  QCOMPARE(optimizer.error().kind, ErrorKind::DoesNotFit);
  const auto copy = benchCopy(tight, MiB);
  QVERIFY(!copy.has_value());
  QCOMPARE(copy.error().kind, ErrorKind::DoesNotFit);
  QVERIFY(!benchCopy({}, 0).has_value());
  QVERIFY(!benchOptimizer({}, 1000, 0).has_value());
}

void TestBench::givenUp() {
  BenchStepOptions options;
  options.progress = [](int done, int) { return done < 1; };
  const auto report = benchStep(m_files, smallProject(), "project", options);
  QVERIFY(!report.has_value());
  QCOMPARE(report.error().kind, ErrorKind::Interrupted);
}

void TestBench::optimizer() {
  ComputeOptions options;
  options.threads = 2;
  const auto report = benchOptimizer(options, 200'000, 3);
  QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
  QVERIFY(report->parameters >= 200'000 && report->parameters < 300'000);
  QCOMPARE(report->fp32BytesPerSecond, 28 * report->fp32ParametersPerSecond);
  QVERIFY(report->trafficBytesPerSecond > 0 && report->splitParametersPerSecond > 0);
  QVERIFY(report->fp32Share > 0 && report->splitShare > 0);
  QVERIFY(parseJson(toJson(*report), "report").has_value());
}

void TestBench::copies() {
  const auto report = benchCopy({}, MiB, 3);
  QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
  QVERIFY(report->inBytesPerSecond > 0 && report->outBytesPerSecond > 0 && report->bothBytesPerSecond > 0);
  QCOMPARE(report->device, std::string("cpu"));
  QVERIFY(parseJson(toJson(*report), "report").has_value());
}

void TestBench::machine() {
  QTemporaryDir folder;
  ProbeOptions options;
  options.compute.threads = 2;
  options.memory = 32 * MiB;
  options.diskBytes = 2 * MiB;
  options.seconds = 1e-3;
  options.disk = folder.path().toStdString();
  const auto report = probeMachine(m_files, options);
  QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
  const HardwareProfile profile = inspectMachine({options.disk});
  QVERIFY(report->machine == machineKey(profile, 2));
  QVERIFY(report->peakMemory > 0 && report->peakMemory <= options.memory);
  QVERIFY(report->host(Precision::Bf16).adamWBesideCopies.known());
  const DiskRates* disk = report->disk(profile.disks.at(0));
  QVERIFY(disk && disk->write.known());
  // What is measured is what the cache gives back.
  const Path cache = options.disk / "rates.json";
  QVERIFY(cacheRates(m_files, cache, *report).has_value());
  const CachedRates cached = cachedRates(m_files, cache, machineKey(profile, 2));
  QVERIFY2(cached.report.has_value() && cached.notice.empty(), cached.notice.c_str());
  QVERIFY(cached.report->device == report->device && cached.report->disks == report->disks);
}

void TestBench::machineRefused() {
  ProbeOptions options;
  options.compute.hostLimit = 4 * leastProbeMemory - 1;
  auto report = probeMachine(m_files, options);
  QVERIFY(!report.has_value());
  QCOMPARE(report.error().kind, ErrorKind::DoesNotFit);
  options = {};
  options.seconds = 0;
  QCOMPARE(probeMachine(m_files, options).error().kind, ErrorKind::BadInput);
  options = {};
  options.disk = "/nowhere";
  QCOMPARE(probeMachine(m_files, options).error().kind, ErrorKind::BadInput);
  options = {};
  options.progress = [](const ProbeProgress&) { return false; };
  QCOMPARE(probeMachine(m_files, options).error().kind, ErrorKind::Interrupted);
}

QTEST_GUILESS_MAIN(TestBench)
#include "test_bench.moc"
