#include "runs/history_store.h"

#include <QDir>
#include <QFileInfo>
#include <QHash>
#include <QSqlError>
#include <QSqlQuery>
#include <QUuid>
#include <QVariant>
#include <cmath>
#include <utility>

namespace millrace::ui {

namespace {

constexpr int schema = 1;

const QString createRuns = QStringLiteral(
    "CREATE TABLE IF NOT EXISTS runs (path TEXT PRIMARY KEY NOT NULL, name TEXT, project TEXT, model TEXT, "
    "outcome INTEGER NOT NULL, reason TEXT, owner TEXT, step INTEGER, total_steps INTEGER, tokens INTEGER, loss REAL, "
    "tokens_per_second REAL, validation REAL, validation_step INTEGER, began REAL, changed REAL, checkpoints INTEGER, "
    "checkpoint_bytes INTEGER, notes TEXT, present INTEGER, stamp TEXT)");
const QString createTags =
    QStringLiteral("CREATE TABLE IF NOT EXISTS tags (path TEXT NOT NULL REFERENCES runs(path) ON DELETE CASCADE, "
                   "place INTEGER NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (path, place))");
const QString columns =
    QStringLiteral("path, name, project, model, outcome, reason, owner, step, total_steps, tokens, loss, "
                   "tokens_per_second, validation, validation_step, began, changed, checkpoints, checkpoint_bytes, "
                   "notes, present, stamp");
constexpr int columnCount = 21;

/// SQLite makes NULL of NaN; a loss that is not a number is not one that is not known.
const QString notANumber = QStringLiteral("nan");

QVariant orNull(const std::optional<double>& value) {
  if (!value) return {};
  return std::isnan(*value) ? QVariant(notANumber) : QVariant(*value);
}

std::optional<double> orNothing(const QVariant& value) {
  if (value.isNull()) return std::nullopt;
  return value.toString() == notANumber ? std::nan("") : value.toDouble();
}

/// Readable by its owner alone, as runs are; SQLite makes its other files like this one.
void makePrivate(const QString& file) {
  QFile made(file);
  if (made.open(QIODevice::WriteOnly | QIODevice::NewOnly))
    made.setPermissions(QFileDevice::ReadOwner | QFileDevice::WriteOwner);
}

/// In the order of `columns`.
QVariantList valuesOf(const RunEntry& run) {
  return {run.path,
          run.name,
          run.project,
          run.model,
          static_cast<int>(run.outcome),
          run.reason,
          run.owner,
          run.step,
          run.totalSteps,
          run.tokens,
          orNull(run.loss),
          orNull(run.tokensPerSecond),
          orNull(run.validation),
          run.validationStep,
          run.began,
          run.changed,
          run.checkpoints,
          run.checkpointBytes,
          run.notes,
          run.present,
          run.stamp};
}

RunEntry entryOf(const QSqlQuery& row) {
  int column = 0;
  const auto next = [&] { return row.value(column++); };
  RunEntry run;
  run.path = next().toString();
  run.name = next().toString();
  run.project = next().toString();
  run.model = next().toString();
  const int outcome = next().toInt();
  run.outcome = outcome >= 0 && outcome <= static_cast<int>(RunOutcome::Failed) ? static_cast<RunOutcome>(outcome)
                                                                                : RunOutcome::Interrupted;
  run.reason = next().toString();
  run.owner = next().toString();
  run.step = next().toLongLong();
  run.totalSteps = next().toLongLong();
  run.tokens = next().toLongLong();
  run.loss = orNothing(next());
  run.tokensPerSecond = orNothing(next());
  run.validation = orNothing(next());
  run.validationStep = next().toLongLong();
  run.began = next().toDouble();
  run.changed = next().toDouble();
  run.checkpoints = next().toInt();
  run.checkpointBytes = next().toLongLong();
  run.notes = next().toString();
  run.present = next().toBool();
  run.stamp = next().toString();
  return run;
}

tl::unexpected<Error> problem(const QString& file, const QSqlError& error) {
  return failure(ErrorKind::Failed, QStringLiteral("%1: %2").arg(file, error.text()).toStdString());
}

/// A name beside the file that nothing has.
QString asideOf(const QString& file) {
  for (int number = 1;; ++number) {
    const QString name = QStringLiteral("%1.damaged-%2").arg(file).arg(number);
    if (!QFileInfo::exists(name)) return name;
  }
}

} // namespace

HistoryStore::HistoryStore(const QString& file)
    : m_connection(QStringLiteral("history-") + QUuid::createUuid().toString(QUuid::WithoutBraces)), m_file(file) {
  QSqlDatabase database = QSqlDatabase::addDatabase(QStringLiteral("QSQLITE"), m_connection);
  database.setDatabaseName(file);
  database.setConnectOptions(QStringLiteral("QSQLITE_BUSY_TIMEOUT=5000"));
}

HistoryStore::HistoryStore(HistoryStore&& other) noexcept
    : m_connection(std::exchange(other.m_connection, {})),
      m_file(std::move(other.m_file)),
      m_notice(std::move(other.m_notice)) {}

HistoryStore::~HistoryStore() {
  if (m_connection.isEmpty()) return;
  database().close();
  QSqlDatabase::removeDatabase(m_connection);
}

Result<HistoryStore> HistoryStore::open(const QString& file) {
  if (!QDir().mkpath(QFileInfo(file).path()))
    return failure(ErrorKind::Failed, QStringLiteral("%1: the folder cannot be made").arg(file).toStdString());
  makePrivate(file);
  HistoryStore store(file);
  if (!store.database().isValid())
    return failure(ErrorKind::Failed, "Qt's driver for SQLite is not installed (libqt6sql6-sqlite)");
  if (store.database().open() && store.isDamaged()) {
    store.database().close();
    const QString aside = asideOf(file);
    if (!QFile::rename(file, aside))
      return failure(ErrorKind::Failed,
                     QStringLiteral("%1: is damaged, and cannot be moved aside").arg(file).toStdString());
    for (const char* ending : {"-wal", "-shm"}) QFile::remove(file + QLatin1String(ending));
    makePrivate(file);
    store.m_notice = QObject::tr("The history of runs was damaged and has been made anew from the runs that are there; "
                                 "the damaged file is %1.")
                         .arg(aside);
  }
  MILLRACE_CHECK(store.begin());
  return store;
}

bool HistoryStore::isDamaged() {
  QSqlQuery query(database());
  if (query.exec(QStringLiteral("PRAGMA quick_check")) && query.next())
    return query.value(0).toString() != QLatin1String("ok");
  const QString code = query.lastError().nativeErrorCode();
  return code == QLatin1String("11") || code == QLatin1String("26"); // SQLITE_CORRUPT, SQLITE_NOTADB
}

Status HistoryStore::begin() {
  QSqlDatabase database = this->database();
  if (!database.isOpen() && !database.open()) return problem(m_file, database.lastError());
  QSqlQuery query(database);
  const auto run = [&](const QString& statement) { return query.exec(statement); };
  // Written by several processes, read by more; the last words before a power cut may be lost, the file may not.
  if (!run(QStringLiteral("PRAGMA journal_mode=WAL")) || !run(QStringLiteral("PRAGMA synchronous=NORMAL")) ||
      !run(QStringLiteral("PRAGMA foreign_keys=ON")) || !run(QStringLiteral("PRAGMA user_version")) || !query.next())
    return problem(m_file, query.lastError());
  const int version = query.value(0).toInt();
  if (version > schema)
    return failure(ErrorKind::Failed, QStringLiteral("%1: was made by a newer program (format %2; this one knows %3)")
                                          .arg(m_file)
                                          .arg(version)
                                          .arg(schema)
                                          .toStdString());
  query.finish();
  if (!run(createRuns) || !run(createTags) || !run(QStringLiteral("PRAGMA user_version=%1").arg(schema)))
    return problem(m_file, query.lastError());
  return {};
}

Result<std::vector<RunEntry>> HistoryStore::all() {
  std::vector<RunEntry> entries;
  QHash<QString, std::size_t> places;
  QSqlQuery query(database());
  query.setForwardOnly(true);
  if (!query.exec(QStringLiteral("SELECT %1 FROM runs").arg(columns))) return problem(m_file, query.lastError());
  while (query.next()) {
    entries.push_back(entryOf(query));
    places.insert(entries.back().path, entries.size() - 1);
  }
  if (!query.exec(QStringLiteral("SELECT path, tag FROM tags ORDER BY path, place")))
    return problem(m_file, query.lastError());
  while (query.next())
    if (const auto found = places.constFind(query.value(0).toString()); found != places.constEnd())
      entries[*found].tags << query.value(1).toString();
  return entries;
}

Status HistoryStore::save(const std::vector<RunEntry>& entries) {
  if (entries.empty()) return {};
  QSqlDatabase database = this->database();
  QStringList marks;
  for (int i = 0; i < columnCount; ++i) marks << QStringLiteral("?");
  QSqlQuery put(database), untag(database), tag(database);
  const auto work = [&]() -> Status {
    if (!put.prepare(QStringLiteral("INSERT OR REPLACE INTO runs (%1) VALUES (%2)").arg(columns, marks.join(u','))))
      return problem(m_file, put.lastError());
    if (!untag.prepare(QStringLiteral("DELETE FROM tags WHERE path = ?"))) return problem(m_file, untag.lastError());
    if (!tag.prepare(QStringLiteral("INSERT INTO tags (path, place, tag) VALUES (?, ?, ?)")))
      return problem(m_file, tag.lastError());
    for (const RunEntry& run : entries) {
      for (const QVariant& value : valuesOf(run)) put.addBindValue(value);
      if (!put.exec()) return problem(m_file, put.lastError());
      untag.addBindValue(run.path);
      if (!untag.exec()) return problem(m_file, untag.lastError());
      for (int place = 0; place < run.tags.size(); ++place) {
        tag.addBindValue(run.path);
        tag.addBindValue(place);
        tag.addBindValue(run.tags[place]);
        if (!tag.exec()) return problem(m_file, tag.lastError());
      }
    }
    return {};
  };
  if (!database.transaction()) return problem(m_file, database.lastError());
  Status done = work();
  if (done && !database.commit()) done = problem(m_file, database.lastError());
  if (!done) database.rollback();
  return done;
}

Status HistoryStore::remove(const QString& path) {
  QSqlQuery query(database());
  if (!query.prepare(QStringLiteral("DELETE FROM runs WHERE path = ?"))) return problem(m_file, query.lastError());
  query.addBindValue(path);
  if (!query.exec()) return problem(m_file, query.lastError());
  return {};
}

} // namespace millrace::ui
