// placeholder until the CPU device lands
namespace millrace {}
