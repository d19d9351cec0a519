// fuzz_market.c - any bytes are the prices of a ticker or an error, beside a ticker that is whole.
#include "fuzz_source.h"
#include "runtime/data/market/market.h"

const fuzz_budget fuzz_memory = {8 << 20, 2000};

static void put_whole(void) {
  char text[4096], *end = text;
  end += sprintf(end, "timestamp,open,high,low,close,volume\n");
  for (int d = 1; d <= 40; d++)
    end += sprintf(end, "2024-%02d-%02d,%d.5,%d,%d,%d.25,%d\n", 1 + d / 28, 1 + d % 28, 10 + d % 7,
                   12 + d % 7, 9 + d % 7, 11 + d % 5, 1000 * d);
  fuzz_put("AAA.csv", text, (size_t)(end - text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *features[] = {"price", "macd", "rsi", "volatility"};
  gr_market_spec spec = {.path = fuzz_folder(),
                         .features = {features, 4},
                         .period = 3,
                         .turbulence_days = 5,
                         .turbulence_limit = 0.9};
  put_whole();
  fuzz_put("BBB.csv", data, size);
  fuzz_source(&gr_source_market, &spec);
  return 0;
}
