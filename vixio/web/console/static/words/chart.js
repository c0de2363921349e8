// Words of charts.

import { addWords } from "../lib/i18n.js";

addWords({
  en: {
    "chart.label": "{name} over time",
    "chart.about": "{name} in the last {minutes} minutes: now {last}, at least {least}, at most {most}.",
    "chart.about.days": "{name} in the last {days} days: today {last}, at least {least}, at most {most}.",
    "chart.none": "No value yet.",
    "chart.before": "{minutes} min ago",
    "chart.before.days": "{days} days ago",
    "chart.now": "now",
    "chart.now.days": "today",
  },
  zh: {
    "chart.label": "{name}变化曲线",
    "chart.about": "最近 {minutes} 分钟的{name}：当前 {last}，最低 {least}，最高 {most}。",
    "chart.about.days": "最近 {days} 天的{name}：今天 {last}，最低 {least}，最高 {most}。",
    "chart.none": "暂无数据。",
    "chart.before": "{minutes} 分钟前",
    "chart.before.days": "{days} 天前",
    "chart.now": "现在",
    "chart.now.days": "今天",
  },
});
