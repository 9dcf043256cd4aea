#include "hardware/rate_model.h"

#include "bridge/text.h"
#include "hardware/machine_text.h"
#include "style/status_colors.h"

#include <QApplication>
#include <QDateTime>
#include <QLocale>
#include <algorithm>

namespace millrace::ui {

namespace {

QString sourceText(const Rate& rate) {
  switch (rate.origin) {
  case RateOrigin::Measured: {
    const QDateTime when = QDateTime::fromString(toQt(rate.measuredAt), Qt::ISODate);
    return RateModel::tr("measured %1")
        .arg(when.isValid() ? QLocale().toString(when.toLocalTime().date(), QLocale::ShortFormat)
                            : toQt(rate.measuredAt));
  }
  case RateOrigin::Entered:
    return RateModel::tr("entered: %1").arg(toQt(rate.source));
  case RateOrigin::Assumed:
    return RateModel::tr("assumed, from %1").arg(toQt(rate.source));
  case RateOrigin::Unknown:
    break;
  }
  return {};
}

StatusKind statusOf(const Rate& rate) {
  if (rate.origin == RateOrigin::Measured) return StatusKind::Good;
  return rate.known() ? StatusKind::Unknown : StatusKind::Warning;
}

} // namespace

RateModel::RateModel(QObject* parent) : QAbstractTableModel(parent) {}

void RateModel::add(const QString& subject, const QString& figure, const Rate& rate, QString (*text)(double),
                    const QString& missing) {
  m_rows.push_back({subject, figure, rate.known() ? text(rate.perSecond) : tr("–"),
                    rate.known() ? sourceText(rate) : missing, rate});
}

void RateModel::setProfile(const HardwareProfile& profile) {
  beginResetModel();
  m_rows.clear();
  const auto addDevice = [this](const QString& name, const DeviceRates& rates, bool gpu) {
    add(name, tr("copies in"), rates.copyIn, &byteRateText);
    add(name, tr("copies out"), rates.copyOut, &byteRateText);
    add(name, tr("copies both ways"), rates.copyBoth, &byteRateText);
    add(name, tr("matrix products, fp32"), rates.gemmFp32, &flopRateText);
    if (gpu) add(name, tr("matrix products, tf32"), rates.gemmTf32, &flopRateText); // on a CPU these are fp32's
    add(name, tr("matrix products, bf16"), rates.gemmBf16, &flopRateText);
    add(name, tr("device memory"), rates.memory, &byteRateText);
  };
  for (const GpuFacts& gpu : profile.nvidia.gpus)
    if (gpu.index >= 0) addDevice(tr("cuda:%1").arg(gpu.index), gpu.rates, true);
  addDevice(tr("CPU"), profile.cpuRates, false);
  const QString host = tr("Host");
  const QString asOnWhole = tr("not measured: taken to be as on whole weights");
  add(host, tr("memory"), profile.hostRates.memory, &byteRateText);
  add(host, tr("AdamW"), profile.hostRates.adamW, &parameterRateText);
  add(host, tr("AdamW beside copies"), profile.hostRates.adamWBesideCopies, &parameterRateText);
  add(host, tr("AdamW, split weights"), profile.hostRates.adamWSplit, &parameterRateText, asOnWhole);
  add(host, tr("AdamW, split, beside copies"), profile.hostRates.adamWSplitBesideCopies, &parameterRateText, asOnWhole);
  for (const DiskFacts& disk : profile.disks) {
    const QString name = tr("Disk at %1").arg(toQt(disk.mountPoint));
    add(name, tr("reading"), disk.rates.read, &byteRateText);
    add(name, tr("writing"), disk.rates.write, &byteRateText);
  }
  endResetModel();
}

int RateModel::measured() const {
  return static_cast<int>(std::count_if(m_rows.begin(), m_rows.end(),
                                        [](const Row& row) { return row.rate.origin == RateOrigin::Measured; }));
}

int RateModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int RateModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : ColumnCount;
}

QVariant RateModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Row& row = m_rows[static_cast<std::size_t>(index.row())];
  if (role == Qt::DecorationRole && index.column() == Source)
    return statusIcon(statusOf(row.rate), QApplication::palette());
  if (role == Qt::TextAlignmentRole && index.column() == Value)
    return QVariant::fromValue(Qt::Alignment(Qt::AlignRight | Qt::AlignVCenter));
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  switch (index.column()) {
  case Subject:
    return row.subject;
  case Figure:
    return row.figure;
  case Value:
    return row.value;
  default:
    return row.source;
  }
}

QVariant RateModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  switch (section) {
  case Subject:
    return tr("Of");
  case Figure:
    return tr("Figure");
  case Value:
    return tr("Rate");
  default:
    return tr("From");
  }
}

} // namespace millrace::ui
