#include "runs/history_store.h"

#include <QDir>
#include <QSqlQuery>
#include <QTemporaryDir>
#include <QtTest>
#include <cmath>
#include <thread>

using namespace millrace;
using namespace millrace::ui;

#define GOOD(result) QVERIFY2((result).has_value(), (result) ? "" : (result).error().message.c_str())

class TestHistoryStore : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> m_folder;
  QString file() const { return m_folder->filePath("data/millrace/history.db"); }

  static RunEntry full() {
    RunEntry run;
    run.path = "/runs/größe \"a\" 'b'; DROP TABLE runs";
    run.name = "goose-1";
    run.project = "goose";
    run.model = "llama, 7.6 B parameters";
    run.outcome = RunOutcome::Failed;
    run.reason = "two\nlines";
    run.owner = "process 1 on host box";
    run.step = 1'000'000'000'000;
    run.totalSteps = 2'000'000'000'000;
    run.tokens = 9'000'000'000'000'000;
    run.loss = 2.5;
    run.tokensPerSecond = 1e9;
    run.validation = 0.1 + 0.2; // all its digits
    run.validationStep = 12;
    run.began = 1.79e9;
    run.changed = 1.79e9 + 0.25;
    run.checkpoints = 3;
    run.checkpointBytes = 5'000'000'000'000;
    run.tags = {"paper", "älter", "a"};
    run.notes = "what\nI think";
    run.present = false;
    run.stamp = "1:2 ";
    return run;
  }
  std::vector<RunEntry> stored() {
    auto store = HistoryStore::open(file());
    return store ? store->all().value_or(std::vector<RunEntry>()) : std::vector<RunEntry>();
  }

 private Q_SLOTS:
  void init() { m_folder = std::make_unique<QTemporaryDir>(); }

  void keepsAllOfARun() {
    {
      auto store = HistoryStore::open(file());
      GOOD(store);
      QVERIFY(store->notice().isEmpty());
      GOOD(store->save({full(), RunEntry{.path = "/runs/empty"}}));
    }
    auto runs = stored();
    QCOMPARE(runs.size(), std::size_t(2));
    std::sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    QVERIFY(runs[0] == RunEntry{.path = "/runs/empty"});
    QVERIFY(runs[1] == full());
    QCOMPARE(QFile::permissions(file()) & (QFile::ReadGroup | QFile::ReadOther), QFile::Permissions());
    QVERIFY(QSqlDatabase::connectionNames().isEmpty());
  }

  void aRunTakesThePlaceOfItsFormerSelf() {
    auto store = HistoryStore::open(file());
    GOOD(store);
    GOOD(store->save({full()}));
    RunEntry changed = full();
    changed.tags = {"b"};
    changed.step = 5;
    changed.loss = std::nan("");
    changed.validation.reset();
    GOOD(store->save({changed}));
    const auto runs = store->all();
    QCOMPARE(runs->size(), std::size_t(1));
    QCOMPARE(runs->front().tags, QStringList{"b"});
    QVERIFY(std::isnan(*runs->front().loss)); // which is not the same as not known
    QVERIFY(!runs->front().validation);
    GOOD(store->remove(changed.path));
    QVERIFY(store->all()->empty());
  }

  void writesAhead() {
    auto store = HistoryStore::open(file());
    GOOD(store);
    GOOD(store->save({full()}));
    QVERIFY(QFile::exists(file() + "-wal"));
  }

  void anotherProcessMayHaveItOpen() {
    auto store = HistoryStore::open(file());
    GOOD(store);
    std::thread other([&] {
      for (int i = 0; i < 20; ++i)
        if (auto second = HistoryStore::open(file()))
          (void)second->save({RunEntry{.path = QString("/other/%1").arg(i)}});
    });
    for (int i = 0; i < 20; ++i) {
      const Status saved = store->save({RunEntry{.path = QString("/this/%1").arg(i)}});
      QVERIFY(saved || (other.join(), false));
    }
    other.join();
    QCOMPARE(store->all()->size(), std::size_t(40));
  }

  void aDamagedFileIsMovedAside_data() {
    QTest::addColumn<bool>("foreign");
    QTest::newRow("no database") << true;
    QTest::newRow("overwritten in the middle") << false;
  }
  void aDamagedFileIsMovedAside() {
    QFETCH(bool, foreign);
    {
      auto store = HistoryStore::open(file());
      GOOD(store);
      std::vector<RunEntry> many;
      for (int i = 0; i < 500; ++i)
        many.push_back(RunEntry{.path = QString("/runs/%1").arg(i), .reason = "long enough"});
      GOOD(store->save(many));
    }
    QFile damaged(file());
    QVERIFY(damaged.open(QIODevice::ReadWrite));
    QVERIFY(damaged.size() > 8192);
    if (!foreign) damaged.seek(4096);
    damaged.write(QByteArray(foreign ? static_cast<int>(damaged.size()) : 12'000, 'x'));
    damaged.close();
    {
      auto store = HistoryStore::open(file());
      GOOD(store);
      QVERIFY2(store->notice().contains("damaged-1"), qPrintable(store->notice()));
      QVERIFY(store->all()->empty());
      GOOD(store->save({full()}));
    }
    QVERIFY(QFile::exists(file() + ".damaged-1"));
    QCOMPARE(stored().size(), std::size_t(1));
    QVERIFY(HistoryStore::open(file())->notice().isEmpty());
  }

  void whatANewerProgramMadeIsLeftAlone() {
    { GOOD(HistoryStore::open(file())); }
    {
      QSqlDatabase database = QSqlDatabase::addDatabase("QSQLITE", "newer");
      database.setDatabaseName(file());
      QVERIFY(database.open());
      QVERIFY(QSqlQuery(database).exec("PRAGMA user_version=7"));
    }
    QSqlDatabase::removeDatabase("newer");
    const auto refused = HistoryStore::open(file());
    QVERIFY(!refused);
    QVERIFY2(refused.error().message.find("newer program") != std::string::npos, refused.error().message.c_str());
  }

  void whereItCannotBeMadeThatIsTold() {
    QVERIFY(QDir().mkpath(file())); // a folder of its name
    const auto refused = HistoryStore::open(file());
    QVERIFY(!refused);
    QVERIFY(refused.error().message.find("history.db") != std::string::npos);
  }
};

QTEST_GUILESS_MAIN(TestHistoryStore)
#include "test_history_store.moc"
