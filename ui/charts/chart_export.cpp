#include "charts/chart_export.h"

#include "charts/chart_colors.h"

#include <QBuffer>
#include <QDir>
#include <QImage>
#include <QSaveFile>
#include <QSvgGenerator>

namespace millrace::ui {

namespace {

Result<void> write(const QString& path, const QByteArray& bytes) {
  QSaveFile file(path);
  if (file.open(QIODevice::WriteOnly) && file.write(bytes) == bytes.size() && file.commit()) return {};
  return failed(
      LiveChart::tr("%1 cannot be written: %2").arg(QDir::toNativeSeparators(path), file.errorString()).toStdString());
}

} // namespace

Result<void> exportPng(LiveChart& chart, const QString& path, QSize size, double scale, bool printColors) {
  QImage image(size * scale, QImage::Format_RGB32);
  if (image.isNull())
    return failed(
        LiveChart::tr("A picture of %1 x %2 is too large.").arg(size.width()).arg(size.height()).toStdString());
  image.setDevicePixelRatio(scale);
  chart.paintOn(image, size, printColors ? printPalette() : chart.palette(), false);
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  if (!image.save(&buffer, "PNG")) return failed(LiveChart::tr("The picture could not be made.").toStdString());
  return write(path, bytes);
}

Result<void> exportSvg(LiveChart& chart, const QString& path, QSize size) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  QSvgGenerator generator;
  generator.setOutputDevice(&buffer);
  generator.setSize(size);
  generator.setResolution(96); // what a pixel is in SVG
  generator.setViewBox(QRect(QPoint(), size));
  generator.setTitle(chart.accessibleName());
  chart.paintOn(generator, size, printPalette(), true);
  return write(path, bytes);
}

} // namespace millrace::ui
