#include <QtTest>
class TestMatmul : public QObject { Q_OBJECT
private Q_SLOTS: void x() {} };
QTEST_GUILESS_MAIN(TestMatmul)
#include "test_matmul.moc"
