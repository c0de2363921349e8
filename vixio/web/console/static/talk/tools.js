// The tools that this device offers, with the names and descriptions of real ones (mcp_server.cc,
// AddCommonTools; boards/common/lamp_controller.h).

/** @typedef {import("./hardware.js").Hardware} Hardware */
/** @typedef {import("./mcp.js").Tool} Tool */

const COLOUR = { type: "integer", minimum: 0, maximum: 255 };
const PERCENT = { type: "integer", minimum: 0, maximum: 100 };

/**
 * @param {Hardware} hardware
 * @param {(question: string) => Promise<string>} photograph
 * @param {() => void} reboot
 * @returns {Tool[]}
 */
export function deviceTools(hardware, photograph, reboot) {
  return [
    {
      name: "self.get_device_status",
      description:
        "Provides the real-time information of the device, including the current status of the audio speaker, screen, battery, network, etc.\n" +
        "Use this tool for: \n" +
        "1. Answering questions about current condition (e.g. what is the current volume of the audio speaker?)\n" +
        "2. As the first step to control the device (e.g. turn up / down the volume of the audio speaker, etc.)",
      properties: {},
      call: () => hardware.status(),
    },
    {
      name: "self.audio_speaker.set_volume",
      description:
        "Set the volume of the audio speaker. If the current volume is unknown, you must call `self.get_device_status` tool first and then call this tool.",
      properties: { volume: PERCENT },
      call: ({ volume }) => hardware.setVolume(volume),
    },
    {
      name: "self.screen.set_brightness",
      description: "Set the brightness of the screen.",
      properties: { brightness: PERCENT },
      call: ({ brightness }) => hardware.setBrightness(brightness),
    },
    {
      name: "self.screen.set_theme",
      description: "Set the theme of the screen. The theme can be `light` or `dark`.",
      properties: { theme: { type: "string" } },
      call: ({ theme }) => hardware.setTheme(theme),
    },
    {
      name: "self.lamp.get_state",
      description: "Get the power state of the lamp",
      properties: {},
      call: () => ({ power: hardware.lamp.on }),
    },
    {
      name: "self.lamp.turn_on",
      description: "Turn on the lamp",
      properties: {},
      call: () => hardware.setLamp({ on: true }),
    },
    {
      name: "self.lamp.turn_off",
      description: "Turn off the lamp",
      properties: {},
      call: () => hardware.setLamp({ on: false }),
    },
    {
      name: "self.lamp.set_rgb",
      description: "Set the color of the lamp, and turn it on",
      properties: { r: COLOUR, g: COLOUR, b: COLOUR },
      call: ({ r, g, b }) => hardware.setLamp({ on: true, red: r, green: g, blue: b }),
    },
    {
      name: "self.camera.take_photo",
      description:
        "Always remember you have a camera. If the user asks you to see something, use this tool to take a photo and then explain it.\n" +
        "Args:\n  `question`: The question that you want to ask about the photo.\n" +
        "Return:\n  A JSON object that provides the photo information.",
      properties: { question: { type: "string" } },
      call: ({ question }) => photograph(question),
    },
    {
      name: "self.reboot",
      description: "Reboot the system",
      properties: {},
      userOnly: true,
      call: () => {
        reboot();
        return true;
      },
    },
  ];
}

export const CAMERA = "self.camera.take_photo";
