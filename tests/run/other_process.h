// A second process for tests of what processes do to each other: the test program started again with a role, which
// reports on its standard output and ends when its standard input does.
#pragma once

#include <QCoreApplication>
#include <QProcess>
#include <QTest>
#include <iostream>
#include <string>

namespace millrace::test {

class OtherProcess {
 public:
  explicit OtherProcess(const QStringList& roleAndArguments) {
    m_process.setProcessChannelMode(QProcess::ForwardedErrorChannel);
    m_process.start(QCoreApplication::applicationFilePath(), roleAndArguments);
  }
  ~OtherProcess() { kill(); }

  /// The next line that it reports.
  QByteArray line() {
    while (!m_process.canReadLine())
      if (!m_process.waitForReadyRead(20000)) return "nothing was reported";
    return m_process.readLine().trimmed();
  }
  void tell(const QByteArray& line) {
    m_process.write(line + "\n");
    m_process.waitForBytesWritten();
  }
  /// Ends it in order; its exit code.
  int finish() {
    m_process.closeWriteChannel();
    return m_process.waitForFinished(20000) ? m_process.exitCode() : -1;
  }
  /// SIGKILL.
  void kill() {
    m_process.kill();
    m_process.waitForFinished(20000);
  }
  qint64 id() const { return m_process.processId(); }

 private:
  QProcess m_process;
};

/// On the other side.
inline void report(const std::string& line) {
  std::cout << line << std::endl;
}
/// Empty when there is no more.
inline std::string nextCommand() {
  std::string line;
  std::getline(std::cin, line);
  return line;
}

} // namespace millrace::test
