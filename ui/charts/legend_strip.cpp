#include "charts/legend_strip.h"

#include <algorithm>

namespace millrace::ui {

namespace {

constexpr double sampleWidth = 22;
constexpr double gap = 6;
constexpr double between = 14;
constexpr double margin = 4;

bool isWordEnd(QChar character) {
  return !character.isLetterOrNumber();
}

/// How many characters all names begin with, up to the end of a word.
qsizetype commonStart(const QStringList& names) {
  qsizetype length = 0, word = 0;
  for (const QString& first = names.first(); length < first.size(); ++length) {
    const bool same = std::all_of(names.begin(), names.end(), [&](const QString& name) {
      return length < name.size() && name[length] == first[length];
    });
    if (!same) break;
    if (isWordEnd(first[length])) word = length + 1;
  }
  return word;
}

QString reversed(QString text) {
  std::reverse(text.begin(), text.end());
  return text;
}

} // namespace

QStringList shortNames(const QStringList& names) {
  if (names.size() < 2) return names;
  const qsizetype start = commonStart(names);
  QStringList ends;
  for (const QString& name : names) ends.push_back(reversed(name.mid(start)));
  const qsizetype end = commonStart(ends);
  QStringList result;
  for (const QString& name : names) {
    const QString middle = name.mid(start, name.size() - start - end);
    const QString dots = QStringLiteral("\u2026");
    result.push_back(middle.isEmpty() ? name : (start > 1 ? dots : QString()) + middle + (end > 1 ? dots : QString()));
  }
  return result;
}

LegendStrip::LegendStrip(QCustomPlot* plot) : QCPLayoutElement(plot) {
  setLayer(QStringLiteral("overlay"));
  setMargins({});
}

void LegendStrip::applyDefaultAntialiasingHint(QCPPainter* painter) const {
  painter->setAntialiasing(true);
}

/// The same for every value, so that nothing moves with the cursor.
double LegendStrip::valueWidth() const {
  return QFontMetricsF(parentPlot()->font()).horizontalAdvance(QStringLiteral("-0.0000e-0"));
}

double LegendStrip::positionWidth() const {
  return QFontMetricsF(parentPlot()->font()).horizontalAdvance(QStringLiteral("step 0,000,000"));
}

int LegendStrip::place(double width, double nameWidth, QList<Place>* places) const {
  const QFontMetricsF metrics(parentPlot()->font());
  double x = 0;
  int line = 0;
  for (const QString& shown : m_names) {
    const double name = std::min(nameWidth, std::ceil(metrics.horizontalAdvance(shown)) + 1);
    const double entryWidth = sampleWidth + gap + name + gap + valueWidth();
    const double room = line == 0 ? width - positionWidth() : width;
    if (x > 0 && x + entryWidth > room) {
      x = 0;
      ++line;
    }
    if (places) places->push_back({x, line, name});
    x += entryWidth + between;
  }
  return line + 1;
}

void LegendStrip::update(UpdatePhase phase) {
  if (phase == upPreparation) {
    const QFontMetricsF metrics(parentPlot()->font());
    const QRect viewport = parentPlot()->viewport();
    const double width = viewport.width() - 2 * margin;
    const int mostLines = std::max(1, static_cast<int>(viewport.height() * 0.25 / metrics.height()));
    double nameWidth = metrics.averageCharWidth() * 40;
    const double least = metrics.averageCharWidth() * 10;
    m_names.clear();
    for (const Entry& entry : entries) m_names.push_back(entry.name);
    if (place(width, nameWidth, nullptr) > mostLines) m_names = shortNames(m_names);
    while (nameWidth > least && place(width, nameWidth, nullptr) > mostLines) nameWidth *= 0.97;
    m_places.clear();
    const int lines = place(width, nameWidth, &m_places);
    const int height = static_cast<int>(std::ceil(lines * metrics.height())) + 4;
    setMinimumSize(0, height);
    setMaximumSize(QWIDGETSIZE_MAX, height);
  }
  QCPLayoutElement::update(phase);
}

QString LegendStrip::nameAt(const QPointF& at) const {
  const double height = QFontMetricsF(parentPlot()->font()).height();
  for (qsizetype i = 0; i < std::min(entries.size(), m_places.size()); ++i) {
    const Place& place = m_places[i];
    const QRectF box(rect().left() + margin + place.x, rect().top() + 2 + place.line * height,
                     sampleWidth + gap + place.nameWidth, height);
    if (box.contains(at)) return entries[i].name;
  }
  return {};
}

void LegendStrip::draw(QCPPainter* painter) {
  const QFontMetricsF metrics(parentPlot()->font());
  const double left = rect().left() + margin, top = rect().top() + 2;
  painter->setFont(parentPlot()->font());
  for (qsizetype i = 0; i < std::min({entries.size(), m_names.size(), m_places.size()}); ++i) {
    const Entry& entry = entries[i];
    const Place& place = m_places[i];
    double x = left + place.x;
    const double y = top + place.line * metrics.height();
    drawSample(*painter, entry.look, QRectF(x, y, sampleWidth, metrics.height()));
    x += sampleWidth + gap;
    painter->setPen(colors.text);
    const QString name = metrics.elidedText(m_names[i], Qt::ElideMiddle, place.nameWidth);
    painter->drawText(QRectF(x, y, place.nameWidth + 1, metrics.height()), Qt::AlignLeft | Qt::AlignVCenter, name);
    x += place.nameWidth + gap;
    painter->drawText(QRectF(x, y, valueWidth() + between, metrics.height()), Qt::AlignLeft | Qt::AlignVCenter,
                      entry.value);
  }
  painter->setPen(colors.dim);
  painter->drawText(QRectF(left, top, rect().width() - 2 * margin, metrics.height()), Qt::AlignRight | Qt::AlignVCenter,
                    position);
}

} // namespace millrace::ui
