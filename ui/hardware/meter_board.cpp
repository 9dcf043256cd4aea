#include "hardware/meter_board.h"

#include "hardware/load_meter.h"
#include "hardware/machine_text.h"
#include "style/elided_label.h"
#include "style/flow_layout.h"
#include "style/numbers.h"

#include <QVBoxLayout>
#include <cmath>

namespace millrace::ui {

namespace {

QString percentText(double share) {
  return MeterBoard::tr("%1%").arg(std::lround(100 * share));
}

void showMemory(LoadMeter* meter, std::optional<double> used, Bytes total) {
  if (!used) return meter->showNothing();
  const QString value = bytesText(std::llround(*used));
  if (total <= 0) return meter->showValue(value, std::nullopt);
  meter->showValue(MeterBoard::tr("%1 of %2").arg(value, bytesText(total)), *used / static_cast<double>(total));
}

/// most: that the bar ends at; 0: not known.
void showRate(LoadMeter* meter, std::optional<double> rate, const Rate& most) {
  if (!rate) return meter->showNothing();
  meter->showValue(byteRateText(*rate), most.known() ? std::optional(*rate / most.perSecond) : std::nullopt);
}

QVBoxLayout* plainColumn(QWidget* widget) {
  auto* column = new QVBoxLayout(widget);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(4);
  return column;
}

} // namespace

MeterBoard::MeterBoard(QWidget* parent) : QWidget(parent), m_layout(plainColumn(this)) {
  m_layout->setSpacing(10);
  auto* host = new FlowLayout;
  host->setSpacing(18);
  m_cpu = add(host, tr("Processors"), QStringLiteral("cpuMeter"));
  m_memory = add(host, tr("Host memory"), QStringLiteral("memoryMeter"));
  m_layout->addLayout(host);
}

LoadMeter* MeterBoard::add(QLayout* row, const QString& title, const QString& name) {
  auto* meter = new LoadMeter(title);
  meter->setObjectName(name);
  row->addWidget(meter);
  return meter;
}

void MeterBoard::setProfile(const HardwareProfile& profile) {
  bool same = true;
  std::vector<GpuFacts> cards;
  for (const GpuFacts& gpu : profile.nvidia.gpus)
    if (gpu.index >= 0) cards.push_back(gpu);
  same = cards.size() == m_gpus.size();
  for (std::size_t i = 0; same && i < cards.size(); ++i) same = cards[i].pciAddress == m_gpus[i].facts.pciAddress;
  if (same) {
    for (std::size_t i = 0; i < cards.size(); ++i) m_gpus[i].facts = cards[i];
    return;
  }
  for (QWidget* box : m_boxes) delete box;
  m_boxes.clear();
  m_gpus.clear();
  for (const GpuFacts& card : cards) {
    const QString number = QString::number(m_gpus.size());
    auto* box = new QWidget;
    QVBoxLayout* column = plainColumn(box);
    auto* name = new ElidedLabel(Qt::ElideRight);
    name->setText(gpuName(card));
    column->addWidget(name);
    auto* row = new FlowLayout;
    row->setSpacing(18);
    Gpu gpu;
    gpu.facts = card;
    gpu.utilization = add(row, tr("Utilisation"), QStringLiteral("utilizationMeter") + number);
    gpu.memory = add(row, tr("Memory"), QStringLiteral("gpuMemoryMeter") + number);
    gpu.power = add(row, tr("Power"), QStringLiteral("powerMeter") + number);
    gpu.temperature = add(row, tr("Temperature"), QStringLiteral("temperatureMeter") + number);
    gpu.linkIn = add(row, tr("Link in"), QStringLiteral("linkInMeter") + number);
    gpu.linkOut = add(row, tr("Link out"), QStringLiteral("linkOutMeter") + number);
    column->addLayout(row);
    m_layout->addWidget(box);
    m_boxes.push_back(box);
    m_gpus.push_back(gpu);
  }
}

std::vector<std::string> MeterBoard::gpus() const {
  std::vector<std::string> addresses;
  for (const Gpu& gpu : m_gpus) addresses.push_back(gpu.facts.pciAddress);
  return addresses;
}

void MeterBoard::showLoad(const MachineLoad& load) {
  if (load.cpu)
    m_cpu->showValue(percentText(*load.cpu), load.cpu);
  else
    m_cpu->showNothing();
  showMemory(m_memory, load.memoryUsed ? std::optional(static_cast<double>(*load.memoryUsed)) : std::nullopt,
             load.memoryTotal);
  for (const Gpu& gpu : m_gpus) {
    std::optional<GpuMetrics> metrics;
    for (const GpuLoad& told : load.gpus)
      if (told.pciAddress == gpu.facts.pciAddress) metrics = told.metrics;
    showGpu(gpu, metrics);
  }
}

void MeterBoard::showGpu(const Gpu& gpu, const std::optional<GpuMetrics>& metrics) {
  const GpuMetrics told = metrics.value_or(GpuMetrics{});
  if (told.utilization)
    gpu.utilization->showValue(percentText(*told.utilization), told.utilization);
  else
    gpu.utilization->showNothing();
  showMemory(gpu.memory, told.memoryUsed, gpu.facts.memoryTotal);
  const double limit = gpu.facts.powerLimit;
  if (!told.powerWatts)
    gpu.power->showNothing();
  else if (limit > 0)
    gpu.power->showValue(tr("%1 of %2 W").arg(std::lround(*told.powerWatts)).arg(std::lround(limit)),
                         *told.powerWatts / limit);
  else
    gpu.power->showValue(tr("%1 W").arg(std::lround(*told.powerWatts)), std::nullopt);
  if (told.temperature)
    gpu.temperature->showValue(tr("%1 °C").arg(std::lround(*told.temperature)), std::nullopt);
  else
    gpu.temperature->showNothing();
  showRate(gpu.linkIn, told.linkIn, gpu.facts.rates.copyIn);
  showRate(gpu.linkOut, told.linkOut, gpu.facts.rates.copyOut);
}

} // namespace millrace::ui
