// DetachedProgram: `millrace` started so that it outlives the window, and watched until it has a run to follow or has
// ended without one.
#pragma once

#include <QFile>
#include <QObject>
#include <QSocketNotifier>
#include <QStringList>
#include <QTimer>
#include <filesystem>
#include <memory>

namespace millrace::ui {

/// The headless program: beside this one, else on the PATH; empty: it is not there.
QString headlessProgram();

class DetachedProgram : public QObject {
  Q_OBJECT

 public:
  /// directory: of the run that the program will work on. input: what it finds at its standard input.
  DetachedProgram(QString program, QStringList arguments, std::filesystem::path directory, QByteArray input = {},
                  QObject* parent = nullptr);
  ~DetachedProgram() override; ///< the program goes on

  void start();
  const std::filesystem::path& directory() const { return m_directory; }

 Q_SIGNALS:
  /// The program works on its run.
  void running();
  /// It could not be started, or ended before it had a run; with what it said.
  void failed(const QString& message);

 private:
  void look();
  void ended();
  QString whatItSaid() const;

  const QString m_program;
  const QStringList m_arguments;
  const std::filesystem::path m_directory;
  const QByteArray m_input;
  mutable QFile m_said; ///< what it says; the file has no name any more
  std::unique_ptr<QSocketNotifier> m_end;
  int m_descriptor = -1; ///< pidfd
  QTimer m_look;
  bool m_runWasThere = false; ///< before the program was started
};

} // namespace millrace::ui
